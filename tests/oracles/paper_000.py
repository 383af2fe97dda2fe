"""Tables of Salazar-González 2004: Figure 1 and a rounding of it (2c), Figure 5 and its rounding as printed."""

import cellward as cw

FIGURE_1 = [[20, 50, 10], [8, 19, 22], [17, 32, 12]]
FIGURE_2C = [[20, 50, 10, 80], [10, 20, 20, 50], [15, 30, 15, 60], [45, 100, 45, 190]]

REGIONS = (
    "North East", "North West", "Yorkshire and Humberside", "East Midlands", "West Midlands", "East", "London", "South East",
    "South West", "Wales", "Scotland", "England", "Great Britain",
)  # fmt: skip
COLUMNS = ("total", "male", "female", "young", "adult", "thin", "fat")
FIGURE_5 = [
    [60593, 29225, 31368, 13856, 46737, 34565, 26028],
    [174414, 78129, 96285, 25673, 148741, 3432, 170982],
    [108769, 46119, 62650, 2342, 106427, 32223, 76546],
    [93346, 43201, 50145, 23443, 69903, 23434, 69912],
    [131817, 61046, 70771, 23878, 107939, 432, 131385],
    [107060, 47376, 59684, 24532, 82528, 34233, 72827],
    [110811, 49053, 61758, 17635, 93176, 3423, 107388],
    [123359, 50949, 72410, 34223, 89136, 4567, 118792],
    [119863, 44718, 75145, 35980, 83883, 56356, 63507],
    [95388, 49579, 45809, 34989, 60399, 6454, 88934],
    [124678, 61327, 63351, 36789, 87889, 5643, 119035],
    [1030032, 449816, 580216, 201562, 828470, 192665, 837367],
    [1250098, 560722, 689376, 273340, 976758, 204762, 1045336],
]
FIGURE_5_ROUNDED = [
    [60595, 29225, 31370, 13855, 46740, 34565, 26030],
    [174415, 78130, 96285, 25675, 148740, 3430, 170985],
    [108770, 46120, 62650, 2340, 106430, 32225, 76545],
    [93345, 43200, 50145, 23445, 69900, 23435, 69910],
    [131815, 61045, 70770, 23875, 107940, 430, 131385],
    [107060, 47375, 59685, 24530, 82530, 34235, 72825],
    [110810, 49055, 61755, 17635, 93175, 3420, 107390],
    [123360, 50950, 72410, 34225, 89135, 4570, 118790],
    [119860, 44715, 75145, 35980, 83880, 56355, 63505],
    [95390, 49580, 45810, 34990, 60400, 6455, 88935],
    [124675, 61325, 63350, 36790, 87885, 5640, 119035],
    [1030030, 449815, 580215, 201560, 828470, 192665, 837365],
    [1250095, 560720, 689375, 273340, 976755, 204760, 1045335],
]


def figure_5():
    """The 13×7 table: the total is a sum in three ways, England and Great Britain are sums of regions."""
    who = cw.Hierarchy(tuple(("total", pair) for pair in (("male", "female"), ("young", "adult"), ("thin", "fat"))))
    area = cw.Hierarchy((("England", REGIONS[:9]), ("Great Britain", ("Wales", "Scotland", "England"))))
    rows = [(r, c, FIGURE_5[i][j]) for i, r in enumerate(REGIONS) for j, c in enumerate(COLUMNS)]
    frame = dict(zip(("area", "who", "people"), zip(*rows, strict=True), strict=True))
    return cw.Table.from_frame(frame, dims=["area", "who"], value="people", hierarchies={"area": area, "who": who})
