"""Answers side by side are taken in the order in which they were asked for, and no more is asked than may be under way."""

from concurrent.futures import Future

from cellward.solve.in_order import in_order


def test_answers_come_in_order_and_so_many_are_under_way():
    asked: list[tuple[int, Future[int]]] = []

    def asking():
        for k in range(5):
            future: Future[int] = Future()

            def ask_for(k=k, future=future):
                asked.append((k, future))
                if len(asked) == 2:  # the second answers before the first
                    asked[1][1].set_result(10)
                    asked[0][1].set_result(0)
                elif len(asked) > 2:
                    future.set_result(10 * k)
                return future

            yield k, ask_for

    taken = []
    for what, answer in in_order(asking(), lambda: 2):
        taken.append((what, answer))
        assert len(asked) - len(taken) <= 1
    assert taken == [(k, 10 * k) for k in range(5)]


def test_nothing_is_asked_before_it_can_be():
    drawn = []

    def asking():
        for k in range(3):
            drawn.append(k)
            future: Future[int] = Future()
            future.set_result(k)
            yield k, lambda future=future: future

    answers = in_order(asking(), lambda: 1)
    assert next(answers) == (0, 0)
    assert drawn == [0]
