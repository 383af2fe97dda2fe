"""Areas within areas: blocks found in the equations, the order of parts, roundings put together from them, and searches that go on."""

from concurrent.futures import Executor, Future
from dataclasses import replace

import census
import numpy as np
import pytest
import seeded_tables

import cellward as cw
from cellward.errors import InputError
from cellward.instance import Instance
from cellward.protect.lattice.best_table import BestTable
from cellward.protect.lattice.engines import ENGINES
from cellward.protect.lattice.model import LatticeModel, allowed_multiples
from cellward.protect.lattice.neighbourhoods import Neighbourhoods
from cellward.protect.lattice.nested import find_nested
from cellward.protect.lattice.nested_blocks import NestedBlocks
from cellward.protect.lattice.nested_plan import plan_of
from cellward.protect.lattice.part_questions import PartQuestions
from cellward.protect.lattice.problem import LatticeProblem
from cellward.protect.lattice.vertex import VertexThenBlocks
from cellward.solve.budget import Budget
from cellward.solve.checkpoint import NAME, Checkpoint
from cellward.solve.highs import solve_mip
from cellward.solve.outcome import Outcome
from cellward.solve.watch import Watch
from cellward.table.relations import Relations

SMALL = NestedBlocks(fewest=1, few_broken=-1.0, patience=4)
"""Whatever the size, and never a vertex of the whole."""


class Here(Executor):
    """An executor of somebody else's, which answers at once and sometimes not at all."""

    def __init__(self, every):
        self.every, self.asked = every, 0

    def submit(self, fn, /, *args, **kwargs):
        self.asked += 1
        future = Future()
        silent = self.every and self.asked % self.every == 0
        kwargs["time_limit_s"] = kwargs["time_limit_s"] and min(kwargs["time_limit_s"], 2.0)
        answer = Outcome(status="unknown", limit_reached=True) if silent else by_a_vertex(*args, **kwargs)
        future.set_result(answer)
        return future


def by_a_vertex(question, *, time_limit_s=None, **_):
    return solve_mip(question, budget=Budget(time_limit_s=time_limit_s), absolute_gap=0.5)


LOCAL = replace(SMALL, executor=lambda _: Here(0))
"""Parts are decided in this process, whose limits are not those of a busy machine."""


def small(seed=0, **size):
    return census.scottish_census(**{"wards": 24, "authorities": 6, "ages": 4, "living": 3, "seed": seed, **size})


def rounding(made, base=5):
    instance = Instance.of(seeded_tables.of_census(made))
    return LatticeProblem(LatticeModel(instance, allowed_multiples(instance, np.full(instance.cells, base))))


def same_blocks(nested, made):
    """Whether the blocks are the areas, and stand above each other as they do."""
    pairs = {(int(b), int(a)) for b, a in zip(nested.block, made.area, strict=True)}
    area = dict(pairs)
    up = {area[b]: area[int(u)] if u >= 0 else -1 for b, u in enumerate(nested.above.tolist())}
    return len(pairs) == nested.blocks == len(made.parent) and up == dict(enumerate(made.parent.tolist()))


# ---- structure -------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "size", [{}, {"wards": 60, "authorities": 8, "ages": 10, "living": 5}, {"wards": 20, "authorities": 9}]
)
def test_blocks_are_the_areas(size, seed):
    made = small(seed, **size)
    assert same_blocks(find_nested(seeded_tables.of_census(made).relations), made)


def test_areas_in_many_levels_are_found():
    made = census.income_support(geography=(60, 8, 2, 1))
    nested = find_nested(seeded_tables.of_census(made).relations)
    # An area with one child may be a block with it.
    assert nested.blocks >= 60 + 2
    assert all(len(set(nested.block[made.area == area].tolist())) == 1 for area in range(len(made.parent)))


def test_the_order_of_cells_and_equations_hides_nothing():
    made, rng = small(), np.random.default_rng(3)
    relations = seeded_tables.of_census(made).relations
    order, rows = rng.permutation(made.cells), rng.permutation(made.equations)
    nested = find_nested(relations.take(rows).permuted(order))
    assert same_blocks(nested, replace(made, area=made.area[order]))


@pytest.mark.parametrize(
    "relations",
    [
        Relations.from_rows(3, [(0, [0, 1, 2], [1, 1, -1])]),
        Relations.from_rows(4, [(2, [0, 1], [1, 1]), (0, [2, 3], [1, 1])]),
        Relations.from_rows(2, []),
    ],
)
def test_tables_without_such_blocks_have_none(relations):
    assert find_nested(relations) is None


@pytest.mark.parametrize("slices", [False, True])
def test_every_block_is_decided_once_and_below_what_is_decided(slices):
    nested = find_nested(seeded_tables.of_census(small(wards=60, authorities=8)).relations)
    plan = plan_of(nested, np.full(nested.blocks, 100), slices=slices)
    decided = set()
    for turn in plan.turns:
        now = set()
        for part in turn:
            assert all(int(head) in decided for head in part.heads)
            for block in part.blocks.tolist():
                up = int(nested.above[block])
                assert up < 0 or up in decided or up in part.blocks
                assert block not in decided | now
                now.add(block)
        decided |= now
    assert decided == set(range(nested.blocks))


def test_a_family_too_large_to_be_asked_about_is_left_to_others():
    nested = find_nested(seeded_tables.of_census(small()).relations)
    assert plan_of(nested, np.full(nested.blocks, 50_000)) is None


# ---- questions -------------------------------------------------------------------------------------------------------------------------------


def test_a_part_with_all_others_known_is_the_restricted_question():
    problem = rounding(small())
    table = BestTable(problem, np.arange(problem.size))
    x = np.random.default_rng(1).integers(0, 2, problem.size)
    free = np.flatnonzero(np.arange(problem.size) % 7 == 0)
    one = PartQuestions(table.question).about(free, x)
    other = Neighbourhoods(problem.model, table.part, table.question, np.random.default_rng(0)).restricted(free, x)
    for name in ("cost", "lower", "upper", "indptr", "indices", "coefs", "row_lower", "row_upper"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


def test_what_is_open_becomes_a_range_that_holds_every_choice():
    problem = rounding(small())
    table = BestTable(problem, np.arange(problem.size))
    best = VertexThenBlocks().solve(problem, Budget()).x
    known = np.arange(problem.size) % 3 == 0
    free = np.flatnonzero(np.arange(problem.size) % 3 == 1)
    part = PartQuestions(table.question).about(free, best, known)
    row = np.repeat(np.arange(part.rows), np.diff(part.indptr))
    activity = np.bincount(row, part.coefs * best[free][part.indices], minlength=part.rows)
    assert np.all((part.row_lower <= activity) & (activity <= part.row_upper))


# ---- roundings -------------------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def exact():
    problem = rounding(small())
    return problem, VertexThenBlocks().solve(problem, Budget())


def test_it_comes_near_to_the_least_table(exact):
    problem, best = exact
    found = SMALL.solve(rounding(small()), Budget())
    model = problem.model
    least, value = model.objective(model.values(best.x)), model.objective(model.values(found.x))
    assert least <= value <= 1.03 * least
    assert found.bound <= int(model.columns.cost @ best.x)
    assert not model.instance.relations.residual(model.values(found.x)).any()


def test_without_a_limit_the_same_problem_has_the_same_answer():
    one, other = (SMALL.solve(rounding(small(1)), Budget(threads=2)) for _ in range(2))
    assert np.array_equal(one.x, other.x)


@pytest.mark.parametrize("every", [0, 3])
def test_any_executor_can_decide_the_parts_and_parts_without_an_answer_are_opened_again(exact, every):
    problem, best = exact
    own = Here(every)
    found = replace(SMALL, executor=lambda _: own).solve(rounding(small()), Budget(time_limit_s=4))
    assert own.asked > 4
    assert int(problem.model.columns.cost @ found.x) >= int(problem.model.columns.cost @ best.x)
    assert not problem.model.instance.relations.residual(problem.model.values(found.x)).any()


def test_a_table_that_has_none_is_called_so():
    made = small()
    instance = Instance.of(seeded_tables.of_census(made))
    allowed = allowed_multiples(instance, np.full(instance.cells, 5))
    top = np.flatnonzero(made.kind == 0)
    top = top[made.level[made.area[top]] == 2]
    lo, hi = (np.array(end) for end in (allowed.lo, allowed.hi))
    lo[top] = hi[top] = lo[top] - 1000
    model = LatticeModel(instance, replace(allowed, lo=lo, hi=hi))
    found = replace(SMALL, executor=lambda _: Here(0)).solve(LatticeProblem(model), Budget())
    assert found.status == "infeasible"


def test_large_tables_go_this_way_and_others_as_before(exact):
    problem, _ = exact
    (engine,) = (one for one in ENGINES if isinstance(one, NestedBlocks))
    assert "few enough" in engine.accepts(problem)
    assert SMALL.accepts(problem) is None
    assert "rows" in SMALL.accepts(LatticeProblem(problem.model, (object(),)))


# ---- searches that go on ---------------------------------------------------------------------------------------------------------------------


def test_a_search_goes_on_where_it_was_left(tmp_path):
    first = LOCAL.solve(rounding(small()), Budget(time_limit_s=3, resume=tmp_path))
    problem = rounding(small())
    told = []
    watch = Watch(lambda s: told.append(s.incumbent))
    second = LOCAL.solve(problem, Budget(time_limit_s=3, resume=tmp_path, watch=watch).counting(0, 1))
    cost = problem.model.columns.cost
    assert int(cost @ second.x) <= int(cost @ first.x)
    assert told[0] is not None and told[0] <= int(cost @ first.x)
    assert (tmp_path / NAME).stat().st_mode & 0o077 == 0


def test_a_damaged_file_is_refused_and_that_of_another_question_not_believed(tmp_path):
    problem = rounding(small())
    question = BestTable(problem, np.arange(problem.size)).question
    budget = Budget(resume=tmp_path)
    x = np.arange(problem.size)
    Checkpoint.of(budget, question).write(x, None, None)
    kept = Checkpoint.of(budget, question).read()
    assert np.array_equal(kept.x, x)
    assert kept.duals is None
    assert Checkpoint.of(budget, replace(question, cost=question.cost + 1)).read() is None
    path = tmp_path / NAME
    data = path.read_bytes()
    for spoiled in (data[:-1], data[:100] + b"x" + data[101:], b"", data[:30]):
        path.write_bytes(spoiled)
        with pytest.raises(InputError, match="damaged; remove it"):
            Checkpoint.of(budget, question).read()


def test_no_table_waits_for_a_better_one_to_be_kept(tmp_path, monkeypatch):
    problem = rounding(small())
    question = BestTable(problem, np.arange(problem.size)).question
    clock = [0.0]
    monkeypatch.setattr("cellward.solve.checkpoint.perf_counter", lambda: clock[0])
    kept = Checkpoint.of(Budget(resume=tmp_path), question)
    x = np.zeros(problem.size, np.int64)
    kept.now_and_then(x, None, None)
    assert not (tmp_path / NAME).exists()
    clock[0] = 60.0
    kept.now_and_then(x, None, None)
    assert np.array_equal(Checkpoint.of(Budget(resume=tmp_path), question).read().x, x)
    (tmp_path / NAME).unlink()
    clock[0] = 120.0
    kept.now_and_then(x, None, None)
    assert not (tmp_path / NAME).exists()


def test_tables_in_the_folder_are_believed_only_if_they_are_some(tmp_path):
    problem = rounding(small())
    question = BestTable(problem, np.arange(problem.size)).question
    nonsense = np.ones(problem.size, np.int64)
    duals = np.full(question.rows, 1e6)
    Checkpoint.of(Budget(resume=tmp_path), question).write(nonsense, duals, np.zeros(problem.size))
    found = LOCAL.solve(problem, Budget(time_limit_s=3, resume=tmp_path))
    if found is not None and found.x is not None:
        assert not problem.model.instance.relations.residual(problem.model.values(found.x)).any()


def test_resume_is_for_methods_whose_searches_keep_something(tmp_path):
    table = cw.Table.from_array([[20, 50], [8, 19]])
    with pytest.raises(InputError, match="keeps nothing"):
        cw.CellSuppression().protect(table, resume=tmp_path)
    with pytest.raises(InputError, match="choose another folder"):
        (tmp_path / "file").write_text("")
        cw.ControlledRounding(5).protect(table, resume=tmp_path / "file")
    assert cw.ControlledRounding(5).protect(table, resume=tmp_path / "new").status == "optimal"


def test_where_parts_have_whole_vertices_that_of_the_whole_is_asked_and_elsewhere_not():
    usual = replace(LOCAL, few_broken=NestedBlocks().few_broken)
    made = small(wards=40, ages=8, living=4)
    assert "neighbourhoods" in usual.solve(rounding(made), Budget(time_limit_s=4)).engine
    found = usual.solve(rounding(census.income_support(geography=(60, 8, 2, 1))), Budget())
    assert found.status == "optimal"
    assert "HiGHS" in found.engine
