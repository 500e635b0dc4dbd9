"""Reading edges: fields, separators, compression, invalid lines; and graphs of other packages."""

import gzip
import io
import math
import sys
from collections import Counter

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_matrix

from w2vtrain import Walks
from w2vtrain.errors import DataError, InputMissing, InvalidType, UsageError
from w2vtrain.leaves.graphs.edges import read_edges
from w2vtrain.text.text_files import Corpus


def steps(graph):
    """Return the probability of each step of a graph: {(node, next node): probability}."""
    names, arcs = graph.names, graph.arcs
    nodes = np.repeat(np.arange(len(names)), np.diff(arcs.starts))
    pairs = [(names[a], names[b]) for a, b in zip(nodes.tolist(), arcs.targets.tolist(), strict=True)]
    assert len(set(pairs)) == len(pairs)
    return dict(zip(pairs, probabilities(arcs).round(6).tolist(), strict=True))


def probabilities(arcs):
    """Return the probability of each arc among those of its node, (A,)."""
    degrees = np.diff(arcs.starts)
    if not len(arcs.bounds):
        return np.repeat(1 / np.maximum(degrees, 1), degrees)
    ends = arcs.bounds + 1.0
    ends -= np.where(np.isin(np.arange(len(ends)), arcs.starts), 0.0, np.concatenate([[0.0], ends[:-1]]))
    return ends / 2.0**32


def expected(edges, directed=False):
    """Return what `steps` returns for the graph of edges (node, node, weight), computed with dictionaries."""
    weights = Counter()
    for a, b, weight in edges:
        for pair in {(a, b)} if directed else {(a, b), (b, a)}:
            weights[pair] += weight
    sums = Counter()
    for (a, _), weight in weights.items():
        sums[a] += weight
    return {pair: weight / sums[pair[0]] for pair, weight in weights.items()}


def read(tmp_path, text, **options):
    path = tmp_path / "edges"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return Walks(path, **options).graph


@pytest.mark.parametrize(
    "text",
    [
        "a b 2\nb c 1\n",
        "# from SNAP\n\n  a  b 2.0\r\nb\tc\t1e0\n",
        "%\na\tb\t2\nb\tc\t1\n\t\n",
        "a,b,2\nb, c ,1",
        "#,\na,b,+20e-1\n \nb,c,1.\r\n",
        "a b 2\n b c",
        "c b\nb a .5\na b 1.5\n",
        "# comment\nsource target weight\na b 2\nb c 1\n",
        "Source\tTarget\tWeight\na\tb\t2\nb\tc\t1",
        '"source","target","weight"\n"a","b","2"\nb, "c" ,1\r\n',
        'a\t"b"\t2\r\n"b"\tc\t"1"\n',
        "a, b, 2\nb, c, 1\n",
    ],
)
def test_lines_of_two_nodes_and_perhaps_a_weight_are_edges(tmp_path, text):
    assert steps(read(tmp_path, text)) == pytest.approx(expected([("a", "b", 2), ("b", "c", 1)]), abs=1e-6)


@pytest.mark.parametrize("weight", [1e-30, 1e30])
def test_the_smallest_and_the_largest_weight_are_accepted(tmp_path, weight):
    assert steps(read(tmp_path, f"a b {weight}\nb c {weight}\n")) == expected([("a", "b", 1), ("b", "c", 1)])


def test_spaces_in_names_become_underscores_where_tabs_or_commas_separate_fields(tmp_path):
    assert sorted(read(tmp_path, "New York,  San  José \nRome,New York\n").names) == ["New_York", "Rome", "San_José"]
    assert sorted(read(tmp_path, "New York\tRome, Italy\n").names) == ["New_York", "Rome,_Italy"]
    assert sorted(read(tmp_path, "Apollo 11\tSaturn 5\n").names) == ["Apollo_11", "Saturn_5"]
    assert sorted(read(tmp_path, "Python 3.11\tPython 3.12\t1.5\n").names) == ["Python_3.11", "Python_3.12"]
    assert sorted(read(tmp_path, "Rome,New York,3\nParis,Rome,2\n").names) == ["New_York", "Paris", "Rome"]
    for names in (["<http://x/a>", "<http://x/b>"], ["<urn:x:a>", "<urn:x:b>"]):
        assert sorted(read(tmp_path, f"{names[0]} {names[1]}\n").names) == names
    assert sorted(read(tmp_path, '" New York ","Rome, Italy"\n').names) == ["New_York", "Rome,_Italy"]


@pytest.mark.parametrize("name", ["edges", "edges.csv", "edges.tsv"])
def test_nodes_may_begin_as_comments_do_if_a_header_names_the_columns(tmp_path, name):
    path, separator = tmp_path / name, "\t" if name.endswith("tsv") else ","
    edges = [("#metoo", "b"), ("b", "#c"), ("%d", "#c")]
    path.write_text("".join(f"{separator.join(edge)}\n" for edge in [("source", "target"), *edges]))
    assert steps(Walks(path).graph) == pytest.approx(expected([(*edge, 1) for edge in edges]), abs=1e-6)


def test_quotes_stay_in_names_unless_they_enclose_a_whole_field(tmp_path):
    names = list(read(tmp_path, '""""\t"a"\n5" disk\t"say ""hi"""\na"b\tc"\n').names)
    assert names == ['"', "a", '5"_disk', 'say_"hi"', 'a"b', 'c"']
    assert sorted(read(tmp_path, '"a" b\n').names) == ['"a"', "b"]


def test_parallel_edges_add_up_and_self_loops_stay(tmp_path):
    edges = [("a", "b", 1), ("b", "a", 2), ("a", "a", 3), ("a", "b", 1), ("a", "c", 1), ("a", "a", 1)]
    text = "".join(f"{a} {b} {weight}\n" for a, b, weight in edges)
    for directed in (False, True):
        found = steps(read(tmp_path, text, directed=directed))
        assert found == pytest.approx(expected(edges, directed), abs=1e-6)
    ones = [(a, b, 1) for a, b, _ in edges]
    assert steps(read(tmp_path, "a b\nb a\na a\na b\na c\na a\n")) == pytest.approx(expected(ones), abs=1e-6)


def test_equal_weights_take_no_memory(tmp_path):
    assert not len(read(tmp_path, "a b 7\nb c 7\n").arcs.bounds)
    arcs = read(tmp_path, "".join(f"{i} {i + 1} {1 + i % 2}\n" for i in range(1000))).arcs
    assert arcs.targets.nbytes + arcs.bounds.nbytes == 16 * 1000


def test_files_may_be_several_and_compressed(tmp_path, monkeypatch):
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"a b 2\n"))
    (tmp_path / "b").write_text("b,c,1\n")
    graph = Walks([tmp_path / "a.gz", str(tmp_path / "b")]).graph
    assert steps(graph) == pytest.approx(expected([("a", "b", 2), ("b", "c", 1)]), abs=1e-6)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a b\n")))
    assert list(Walks("-").graph.names) == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("a b\nc\n", 2, "expected two nodes and perhaps a weight, separated by white space, got b'c'"),
        ("a b 1 2\n", 1, "expected two nodes and perhaps a weight"),
        ("a\tb\n\n\na\t\t1\n", 4, "the target is empty or null: fill it in, or delete this edge"),
        ("# c\na\tb\n\n#c\td\n", 4, "comments end at the first edge: delete this line; or, if it is an edge, write"),
        ("a b\n%c d\n", 2, "comments end at the first edge"),
        ("source,target\na,b\n#c\n", 3, "separated by commas"),
        ("a b 1,5\nb c 2,5\n", 1, "the weight has a decimal comma: write 1.5"),
        ("Source;Target;Weight\n0;1;1,0\n", 1, "the fields seem to be separated by semicolons: replace these by tabs"),
        ("#\na; b; -0,25\n", 2, "the weight has a decimal comma: write -0.25"),
        ("a b 1,500\n", 1, "the weight has a decimal comma: write 1.500, or 1500 if it means that"),
        ("52.13,13.84 52.76,13.25\n", 1, "commas separate fields, and these nodes seem to have commas in them"),
        ("0\t1 0.056\n", 1, "tabs separate fields, so 1_0.056 would be one name: separate all by tabs"),
        ("(0, 1)\n", 1, "an edge as Python prints it: save the graph with networkx"),
        ('"from" "to"\n"a" "b"\n', 1, "nodes in quotes, which would be part of their names: remove all quotes"),
        ('"from"\t"to"\n"a"\t"b"\n', 1, "this line names columns"),
        ("0 -> 1\n", 1, "-> stands between the nodes: delete it"),
        ("a\tb -2e-5\n", 1, "tabs separate fields, so b_-2e-5 would be one name"),
        ("a b 1,000.5\n", 1, "the weight has commas between its digits: write 1000.5"),
        (
            "% sym positive\n1 2\t5\t1095135831\n",
            2,
            "tabs separate fields, so 1_2 would be one name: separate all by tabs, or write 1_2",
        ),
        ("1\t2 5\n", 1, "separate all by tabs, or write 2_5"),
        (
            '*Vertices 3\n1 "a"\n2 "b"\n*Arcs 1\n1 2 3\n',
            1,
            "this is Pajek, not a list of edges: save the graph with networkx.",
        ),
        ("\n<?xml version='1.0'?>\n", 2, "this is XML, not a list"),
        ("graph [\n", 1, "this is GML, not a list"),
        ("digraph {\n", 1, "this is DOT, not a list"),
        ("#walk.py\n# GMT Sun Nov 29 08:00:00 2026\n#\n0 1 2\n1 2\n", 4, "this is an adjacency list"),
        ("a b {'weight': 3}\n", 1, "attributes of NetworkX in place of a weight"),
        ("node1,node2\na,b\n", 1, "this line names columns"),
        ('"a";"b";"1,5"\n', 1, "separated by semicolons: replace these by tabs, and decimal commas by points"),
        ("a;b;2 c;d -1\n", 1, "the weight is -1"),
        ("a,b\n,b\n", 2, "the source is empty or null"),
        ("a,b,\n", 1, "the weight is empty or null"),
        ("a,b,1,\n", 1, "separated by commas"),
        ("a b 1\nb c -2\n", 2, "the weight is -2: weights must be from 1e-30 to 1e+30: leave out the edge"),
        ("a b 0\n", 1, "the weight is 0"),
        ("a b -0.0\n", 1, "the weight is -0"),
        ("a b nan\n", 1, "the weight is nan"),
        ("a b inf\n", 1, "the weight is inf"),
        ("a b 1e999\n", 1, "the weight is inf"),
        ("a b 1e-999\n", 1, "the weight is 0"),
        ("a b 1e-310\n", 1, "the weight is 1e-310: weights must be from 1e-30"),
        ("a b 1e39\n", 1, "the weight is 1e+39"),
        ("a b 1_0\n", 1, "expected a number as the weight, got b'1_0'"),
        ('a,b\n"","c"\n', 2, "the source is empty or null"),
        ('a,b\n"c,d\n', 2, "a field begins with a quote that does not end it: put the field in quotes, and double"),
        ('"a"b\tc\n', 1, "a field begins with a quote that does not end it"),
        (
            "#\nid_1,id_2\n1,2\n2,3\n",
            2,
            "seems to name columns, because all other nodes are numbers: put # before it; or",
        ),
        ("FromNodeId\tToNodeId\n1\t2\n", 1, "seems to name columns"),
        ("u v w\n1 2 0.5\n", 1, "seems to name columns"),
        ('{"source": "a", "target": "b"}\n', 1, "JSON lines: save them in a file with the suffix .jsonl"),
        ('"target","source"\na,b\n', 1, "this line names columns"),
        (b'a,b\n"c \xff",b\n', 2, "is not UTF-8"),
        ("a b x1\n", 1, "expected a number as the weight, got b'x1'"),
        ("a b 1e\n", 1, "expected a number as the weight"),
        ("a b .\n", 1, "expected a number as the weight"),
        ("#\nfrom,to\na,b\n", 2, "this line names columns: name them source, target and perhaps weight"),
        ("target\tsource\na\tb\n", 1, "this line names columns"),
        ("# c\n4 3\na 2 .5\n2 3 1\n3 4 2\n", 2, "seems to count nodes and edges, because only it has no weight: put #"),
        ("a b\nsource target weight\n", 2, "this line names columns"),
        ("%%MatrixMarket matrix coordinate real general\n% c\n3 3 1\n1 2 5\n", 3, "the sizes of a matrix: delete this"),
        ("a b\n" + "c" * 1001 + " d\n", 2, "the name of a node has more than 1,000 bytes"),
        (b"a b\nc \xff\n", 2, "is not UTF-8"),
        (b"a b\nc \0d\n", None, "as in binary data or UTF-16: convert it with iconv"),
    ],
)
def test_an_invalid_line_is_refused_with_its_file_and_number(tmp_path, text, line, said):
    with pytest.raises(DataError) as caught:
        read(tmp_path, text)
    assert f"{tmp_path / 'edges'}:{line or ''}" in str(caught.value) or line is None
    assert said in str(caught.value)


def test_a_line_keeps_its_number_in_later_blocks(tmp_path):
    path = tmp_path / "edges"
    path.write_text("a b\n\n" * 500 + "a b -1\n")
    for size in (1, 7, 4000):
        with pytest.raises(DataError, match="edges:1001: the weight is -1"):
            read_edges(Corpus([str(path)], block_bytes=size))


def test_names_of_any_length_are_whole_where_commas_separate_them(tmp_path):
    (tmp_path / "edges").write_text("".join(f"http://a/{i}{'x' * 900},http://b/{i}{'y' * 900}\n" for i in range(3000)))
    names = Walks(tmp_path / "edges").graph.names
    assert len(names) == 6000
    assert {len(name.rstrip("xy")) for name in names} == {10, 11, 12, 13}
    assert {len(name) - len(name.rstrip("xy")) for name in names} == {900}


def test_a_file_is_read_as_it_is_when_the_graph_is_used(tmp_path):
    path = tmp_path / "edges"
    path.write_text("alice bob\n")
    walks, corpus = Walks(path), Corpus([str(path)])
    path.write_text("alexander bob\nbob carol\n")
    assert list(walks.graph.names) == ["alexander", "bob", "carol"]
    with pytest.raises(DataError, match="edges: grew while it was read: start again when it is complete"):
        read_edges(corpus)


@pytest.mark.parametrize(
    "columns", [["source", "target", "weight"], ["weight", "year", "target", "source"]], ids=["these", "more"]
)
@pytest.mark.parametrize("numbers", [False, True])
@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz", ".jsonl", ".parquet", ".feather"])
def test_tables_have_edges_in_columns(tmp_path, suffix, numbers, columns):
    """Columns may have any order, and names of nodes may look like numbers, comments or quoted cells."""
    pytest.importorskip("pyarrow")
    names = [1, 2, 3] if numbers else ["#a", "b, c", '"e"']
    edges = [(names[0], names[1], 2.5), (names[1], names[2], 1), (names[0], names[1], 0.5)]
    frame = pandas.DataFrame(edges, columns=["target", "source", "weight"]).assign(year=7)[columns]
    path = str(tmp_path / f"edges{suffix}")
    if suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True)
    elif suffix in (".parquet", ".feather"):
        getattr(frame, f"to_{suffix[1:]}")(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if suffix == ".tsv" else ",")
    named = [["_".join(str(name).split()) for name in (b, a)] + [weight] for a, b, weight in edges]
    assert steps(Walks(path, directed=True).graph) == pytest.approx(expected(named, True), abs=1e-6)
    frame.drop(columns="weight").to_json(tmp_path / "more.jsonl", orient="records", lines=True)
    graph = Walks([path, tmp_path / "more.jsonl"]).graph
    assert steps(graph) == pytest.approx(expected([*named, *([a, b, 1] for a, b, _ in named)]), abs=1e-6)


@pytest.mark.parametrize("order", [1, -1])
def test_records_without_a_weight_have_the_weight_1(tmp_path, order):
    lines = ['{"source": "a", "target": "b"}\n', '{"source": "a", "target": "c", "weight": 9}\n'][::order]
    (tmp_path / "edges.jsonl").write_text("".join(lines))
    found = steps(Walks(tmp_path / "edges.jsonl", directed=True).graph)
    assert found == pytest.approx({("a", "b"): 0.1, ("a", "c"): 0.9}, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.csv", "user,item,rating\na,b,1\n", "a.csv: an edge has the columns source and target, and perhaps weight;"),
        ("a.csv", "user,item,rating\na,b,1\n", "the columns are: 'user', 'item', 'rating'"),
        ("a.tsv", "from\tto\na\tb\n", "the columns are: 'from', 'to'"),
        ("a.jsonl", '{"a": 1, "source": 2}\n', "the columns are: 'a', 'source'"),
        ("a.jsonl", '{"source": "a", "target": null}\n', "a.jsonl:1: the target is empty or null: fill it in"),
        ("a.jsonl", '{"source": "a", "target": true}\n', "a.jsonl:1: column 'target' is True, and must be a string"),
        ("a.jsonl", '{"source": "a", "target": "b", "weight": -1}\n', "a.jsonl:1: the weight is -1"),
        ("a.csv", "x,target,source,weight\n1,a,b,1\n1,a,c,\n", "a.csv:3: the weight is empty or null: fill it in"),
        ("a.jsonl", '{"source": "a", "target": "b", "weight": null}\n', "a.jsonl:1: the weight is empty or null"),
        (
            "a.jsonl",
            '{"source": "a", "target": "b"}\n{"source": null, "target": null}\n',
            "a.jsonl:2: the source is empty",
        ),
        (
            "a.jsonl",
            '{"source": "a", "target": ["b"]}\n',
            "a.jsonl:1: column 'target' is ['b'], and must be a string or",
        ),
        ("a.csv", "source,target\na,b\nc\n", "a.csv:3: expected two nodes and perhaps a weight"),
    ],
)
def test_tables_without_edges_are_refused(tmp_path, name, text, said):
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError) as caught:
        Walks(tmp_path / name).graph  # noqa: B018
    assert said in str(caught.value)


def test_what_is_no_graph_is_refused(tmp_path):
    for text in ("", "# only a comment\n\n", "a a\nb b\n"):
        with pytest.raises(DataError, match="edges: the graph has no edges"):
            read(tmp_path, text)
    with pytest.raises(InputMissing):
        Walks("none.txt")
    with pytest.raises(UsageError):
        Walks([])
    mistakes = ({"walk_length": 1}, {"walks": -1}, {"walks": 2.5}, {"p": 0.0}, {"q": float("nan")}, {"p": float("inf")})
    for mistake in (*mistakes, {"walk_length": 10**9}, {"walks": 10**25}, {"p": 1e-310}, {"seed": None}):
        with pytest.raises(UsageError, match=f"{next(iter(mistake))}: expected a (whole )?number from"):
            Walks(pandas.DataFrame({"a": [1], "b": [2]}), **mistake)
    for mistake in ({"threads": -1}, {"directed": "perhaps"}):
        with pytest.raises(UsageError, match=f"{next(iter(mistake))}: expected "):
            Walks("none.txt", **mistake)


NAMES = st.text("abé:/", min_size=1, max_size=40)
WEIGHTS = st.one_of(st.none(), st.floats(1e-6, 1e6).map(lambda x: f"{x:.6g}"), st.integers(1, 10**6).map(str))


@given(
    st.sampled_from(["", "#x\n", "\n%\n# y z\n"]),
    st.lists(st.tuples(NAMES, NAMES, WEIGHTS, st.sampled_from(["", "\n"])), min_size=1, max_size=30).filter(
        lambda edges: any(a != b for a, b, *_ in edges)
    ),
    st.sampled_from([" ", "\t", ",", " , ", "  "]), st.booleans(), st.integers(1, 100),
)  # fmt: skip
def test_what_is_written_is_read(tmp_path_factory, comments, edges, separator, directed, block):
    path = tmp_path_factory.getbasetemp() / "edges"
    lines = [f"{more}{separator.join(filter(None, edge))}\n" for *edge, more in edges]
    path.write_text("".join([comments, *lines]), encoding="utf-8")
    graph = read_edges(Corpus([str(path)], block_bytes=block), directed)
    wanted = expected([(a, b, float(weight or 1)) for a, b, weight, _ in edges], directed)
    assert steps(graph) == pytest.approx(wanted, abs=1e-5)
    assert list(graph.names) == list(dict.fromkeys(node for a, b, *_ in edges for node in (a, b)))


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "bytes"
    path.write_bytes(data)
    try:
        graph = read_edges(Corpus([str(path)]))
    except DataError:
        return
    assert graph.names
    assert all(name.encode().split() == [name.encode()] for name in graph.names)


def test_whole_numbers_that_are_floats_are_the_nodes_that_integers_are(tmp_path):
    """pandas makes a column of numbers one of floats if a value was missing before."""
    (tmp_path / "edges.jsonl").write_text('{"source": 1, "target": 2.0}\n{"source": 2, "target": 0.5}\n')
    assert list(Walks(tmp_path / "edges.jsonl").graph.names) == ["1", "2", "0.5"]
    (tmp_path / "long.jsonl").write_text(f'{{"source": {2**127}, "target": {2**127 + 1}}}\n')
    assert list(Walks(tmp_path / "long.jsonl").graph.names) == [str(2**127), str(2**127 + 1)]
    frame = pandas.DataFrame({"source": [1, 2, 3, None], "target": [2, 3, 1, 4]}).dropna()
    assert steps(Walks(frame).graph) == pytest.approx(expected([("1", "2", 1), ("2", "3", 1), ("3", "1", 1)]), abs=1e-6)
    halves = pandas.DataFrame({"source": [0.5], "target": [1.0]})
    assert sorted(Walks(halves).graph.names) == ["0.5", "1"]
    frame = pandas.DataFrame({"source": [10**10 + 1, 10**10 + 2], "target": [10**10 + 2.0, 0.5]})
    assert sorted(Walks(frame).graph.names) == ["0.5", "10000000001", "10000000002"]
    pytest.importorskip("pyarrow")
    frame.to_parquet(tmp_path / "edges.parquet")
    assert sorted(Walks(tmp_path / "edges.parquet").graph.names) == ["0.5", "10000000001", "10000000002"]
    mixed = pandas.DataFrame({"source": [3, 3.0, np.float32(3)], "target": ["a", 4.0, 4]}, dtype=object)
    assert sorted(Walks(mixed).graph.names) == ["3", "4", "a"]
    huge = pandas.DataFrame({"source": [1e20, 2e20], "target": [2e20, 3.0]})
    assert len(Walks(huge).graph.names) == 3


def test_graphs_of_other_packages_are_taken_over():
    edges = [("a", "b", 2), ("b", "c", 1), ("a", "b", 1), ("c", "c", 2)]
    frame = pandas.DataFrame(edges, columns=["source", "target", "weight"])
    assert steps(Walks(frame).graph) == pytest.approx(expected(edges), abs=1e-6)
    assert steps(Walks(frame, directed=True).graph) == pytest.approx(expected(edges, True), abs=1e-6)
    for names in ({"source": "Source", "weight": "WEIGHT"}, {"source": 0, "target": 1, "weight": 2}):
        renamed = frame.rename(columns=names)
        assert steps(Walks(renamed).graph) == pytest.approx(expected(edges), abs=1e-6)
    assert steps(Walks(frame[["target", "source"]]).graph) == pytest.approx(
        expected([(a, b, 1) for a, b, _ in edges]), abs=1e-6
    )
    frame["source"] = frame["source"].map(str.encode)  # as pandas reads a binary column of Parquet
    assert steps(Walks(frame).graph) == pytest.approx(expected(edges), abs=1e-6)
    matrix = coo_array(([2.0, 1, -1, 2, 2, 0], ([0, 1, 0, 0, 2, 2], [1, 2, 1, 1, 2, 0])), shape=(4, 4))
    for form in (matrix, csr_matrix(matrix)):
        graph = Walks(form, names="abcd").graph
        assert steps(graph) == pytest.approx(expected(edges, True), abs=1e-6)
        assert list(graph.names) == list("abcd")
    assert list(Walks(matrix).graph.names) == list("0123")


@pytest.mark.parametrize("kind", ["bool", "int8", "uint8"])
def test_edges_that_a_matrix_repeats_add_up_beyond_its_type(kind):
    matrix = coo_array((np.ones(513, kind), ([0] * 513, [1] * 512 + [2])), shape=(3, 3))
    assert steps(Walks(matrix).graph) == pytest.approx(expected([("0", "1", 512), ("0", "2", 1)], True), abs=1e-6)


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_frames_of_other_packages_have_edges_in_columns(library):
    columns = {"year": [7, 8], "Weight": [2, 1], "target": ["b", "c"], "source": ["a", "b"]}
    package = pytest.importorskip(library)
    frame = package.table(columns) if library == "pyarrow" else package.DataFrame(columns)
    assert steps(Walks(frame).graph) == pytest.approx(expected([("a", "b", 2), ("b", "c", 1)]), abs=1e-6)


@pytest.mark.parametrize(("directed", "nameless"), [(False, None), (True, ""), (True, math.nan)])
def test_graphs_of_igraph_are_taken_over(directed, nameless):
    igraph = pytest.importorskip("igraph")
    graph = igraph.Graph(4, [(0, 1), (1, 2), (0, 1)], directed=directed)
    ones = [("0", "1", 1), ("1", "2", 1), ("0", "1", 1)]
    assert steps(Walks(graph).graph) == pytest.approx(expected(ones, directed), abs=1e-6)
    assert list(Walks(graph).graph.names) == list("0123")
    graph.vs["name"], graph.es["weight"] = list("abcd"), [1, 2, 3]
    edges = [("a", "b", 1), ("b", "c", 2), ("a", "b", 3)]
    assert steps(Walks(graph).graph) == pytest.approx(expected(edges, directed), abs=1e-6)
    graph.vs[3]["name"] = nameless
    with pytest.raises(DataError, match=f"a node has the name {nameless!r}"):
        Walks(graph)


@pytest.mark.parametrize("directed", [False, True])
def test_graphs_of_networkx_are_taken_over(directed):
    edges, nodes = [("a", "b", 2), ("b", 3, 1), ("a", "b", 1)], ["a", "b", 3.0, "alone", 0.5]
    networkx = pytest.importorskip("networkx")
    graph = networkx.MultiDiGraph() if directed else networkx.MultiGraph()
    graph.add_nodes_from(nodes)
    graph.add_weighted_edges_from(edges)
    found = Walks(graph).graph
    assert list(found.names) == ["a", "b", "3", "alone", "0.5"]
    assert steps(found) == pytest.approx(expected([(str(a), str(b), w) for a, b, w in edges], directed), abs=1e-6)


def test_objects_that_are_no_graphs_are_refused():
    for mistake in (7, [1, 2], object()):
        with pytest.raises(InvalidType, match="expected files of edges, a sparse matrix"):
            Walks(mistake)
    with pytest.raises(DataError, match="2 x 3"):
        Walks(csr_matrix(np.ones((2, 3))))
    with pytest.raises(DataError, match="a matrix of 3: a graph has as many rows as columns"):
        Walks(coo_array(np.array([1, 0, 2])))
    with pytest.raises(DataError, match="the weights of the edges must be numbers"):
        Walks(csr_matrix([[0, 1j], [1, 0]]))
    for weight in ("heavy", [1]):
        with pytest.raises(DataError, match="the weights of the edges must be numbers"):
            Walks(pandas.DataFrame({"source": ["a"], "target": ["b"], "weight": [weight]}))
    with pytest.raises(DataError, match="the edge of '0' and '1' has the weight -1: weights must be from"):
        Walks(csr_matrix([[0, -1], [1, 0]]))
    with pytest.raises(DataError, match="has the weight NaN or None: weights"):
        Walks(pandas.DataFrame({"source": ["a"], "target": ["b"], "weight": [None]}))
    for name, said in (("1", "'1' occurs twice"), ("a\nb", "a newline"), ("\ud800", "surrogate"), (None, "None")):
        with pytest.raises(DataError, match=said):
            Walks(csr_matrix(np.ones((2, 2))), names=["1", name])
    with pytest.raises(DataError, match="a newline"):
        Walks(pandas.DataFrame({"source": ["1"], "target": ["a\nb"]}))
    for columns in ({"a": [1]}, {"id": [1], "from": [2], "to": [3]}, {"source": [1], "Source": [2], "target": [3]}):
        with pytest.raises(DataError, match="an edge has the columns source and target"):
            Walks(pandas.DataFrame(columns))
    with pytest.raises(DataError, match="an edge has the columns source and target"):  # which is the source?
        Walks(pandas.DataFrame({"to": [1], "source": [2]}))
    for missing in (None, float("nan"), pandas.NA):
        with pytest.raises(DataError, match=r"the column target, row 1 \(from 0\): null, and there must be a node"):
            Walks(pandas.DataFrame({"source": ["nan", "b"], "target": ["None", missing]}))
    with pytest.raises(DataError, match="the weights of the edges must be numbers: could not convert"):
        Walks(pandas.DataFrame({"source": [1], "target": [2], "weight": ["x"]}))
    for named in (pandas.DataFrame({"a": [1], "b": [2]}), "edges.txt"):
        with pytest.raises(InvalidType, match="names: has no effect"):
            Walks(named, names=["a", "b"])


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("names", [["a", None], [1, None]])
def test_missing_nodes_are_refused(library, names):
    frame = pytest.importorskip(library).DataFrame({"source": ["a", "b"], "target": names})
    with pytest.raises(DataError, match=r"the column target, row 1 .*: null"):
        Walks(frame)
