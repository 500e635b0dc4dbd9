"""WordNet's database: the chain of hypernyms of a word, and files that are damaged."""

import re
from contextlib import contextmanager, suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wordnet_files import DATABASE, data_files, write_wordnet

from w2vtrain.errors import DataError, InputMissing
from w2vtrain.formats import wordnet
from w2vtrain.formats.wordnet import WordNet

KEYS = {(letter.encode(), offset): key for key, (letter, offset) in data_files()[1].items()}
WORDS = "dog Dogs men mice paris run ran running walked hugely huge biggest he the inhibit restrain xyzzy was puppies"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_wordnet(tmp_path_factory.mktemp("wordnet") / "dict")


@pytest.fixture(scope="module")
def database(folder):
    return WordNet(folder)


@pytest.fixture
def copy(tmp_path):
    """Return a copy of the files that a test may damage."""
    return write_wordnet(tmp_path / "dict")


def named(chain):
    """Return the keys of a chain's synsets, after the letter of the part of speech; None for no chain."""
    return chain and " ".join([chain[0][0].decode(), *(KEYS[synset] for synset in chain[1:])])


@pytest.mark.parametrize(
    ("word", "chain"),
    [
        ("puppy", "n entity object organism animal dog puppy"),
        ("domestic_animal", "n entity object organism animal domestic"),
        ("french_capital", "n entity object city paris"),
        ("entity", "n entity"),
        ("travel", "v move"),
        ("huge", "a big huge"),
        ("atomic", "a atomic"),
        ("hugely", "a big huge hugely"),
        ("ever", "r ever"),
        # upper case and inflection
        ("PARIS", "n entity object city paris"),
        ("dogs", "n entity object organism animal dog"),
        ("puppies", "n entity object organism animal dog puppy"),
        ("mice", "n entity object organism animal mouse"),
        ("Men", "n entity object organism person man"),
        ("was", "v be"),
        ("ran", "v move run"),
        ("moved", "v move"),
        ("moving", "v move"),
        ("walks", "v move walk"),
        ("bigger", "a big"),
        ("smaller", "a small"),
        ("largest", "a big"),
        # senses
        ("dog", "n entity object organism animal dog"),
        ("run", "v move run"),
        ("runs", "v move run"),
        # unknown
        ("xyzzy", None),
        ("he", None),
        ("The", None),
        ("s", None),
        ("</s>", None),
        ("\udcff", None),
    ],
)
def test_chain_of_a_word(database, word, chain):
    """The first hypernym of several counts: a dog is an animal first, and a domestic animal second."""
    assert named(database.chain(word)) == chain


def test_a_cycle_of_hypernyms_ends(database):
    """WordNet 3.0 has one among its verbs."""
    assert named(database.chain("inhibit")) == "v restrain inhibit"
    assert named(database.chain("restrain")) == "v inhibit restrain"


def test_chains_end_at_the_limit(database, monkeypatch):
    monkeypatch.setattr(wordnet, "MAX_CHAIN_SYNSETS", 3)
    assert named(database.chain("puppy")) == "n animal dog puppy"


def test_every_lemma_of_the_database_is_found(database):
    for synsets in DATABASE.values():
        for _, _, words, _ in synsets.values():
            assert all(database.chain(word) for word in words if word != "He")


def test_exceptions_are_optional(copy):
    for path in copy.glob("*.exc"):
        path.unlink()
    assert WordNet(copy).chain("mice") is None
    assert named(WordNet(copy).chain("men")) == "n entity object organism person man"


def test_a_line_of_the_manual_page_is_read(tmp_path):
    """Lines as they occur in WordNet 3.0, with more words, pointers and frames than in the tests' database."""
    folder = write_wordnet(tmp_path / "dict")
    (folder / "index.noun").write_text("entity n 1 1 ~ 1 1 00000000  \n")
    (folder / "data.noun").write_text(
        "00000000 03 n 01 entity 0 003 ~ 00001930 n 0000 ~ 00002137 n 0000 ~ 04424418 n 0000 | that which exists  \n"
    )
    (folder / "index.verb").write_text("take_a_breath v 1 5 @ ~ * > + 1 0 00000000  \n")
    (folder / "data.verb").write_text(
        "00000000 29 v 0b breathe 0 take_a_breath 0 respire 0 suspire 3 a 1 b 2 c 3 d 4 e f f 0 g 0 002 "
        "+ 00831191 n 0103 @ 00000000 v 0000 02 + 02 00 + 08 00 | draw air in  \n"
    )
    assert WordNet(folder).chain("entity") == ((b"n", -1), (b"n", 0))
    assert WordNet(folder).chain("take_a_breath") == ((b"v", -1), (b"v", 0))


# Damage


def changed(path, old, new):
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"puppy n 1 1 @ 1 1", b"puppy n 2 1 @ 1 1"),
        (b"puppy n 1 1 @ 1 1", b"puppy n 1 2 @ 1 1"),
        (b"puppy n 1 1 @ 1 1", b"puppy v 1 1 @ 1 1"),
        (b"puppy n 1 1 @ 1 1", b"puppy n -1 1 @ 1 1"),
        (b"puppy n 1 1 @ 1 1", b"puppy n 1 999999999 @ 1 1"),
        (b"puppy n 1 1 @ 1 1", b"puppy n 1 1 @ 1 x"),
        (b"puppy n 1 1 @ 1 1", b"puppy n 1 1 @ 1 " + b"9" * 5000),
        (b"puppy n 1 1 @ 1 1 0", b"puppy n 0 1 @ 1 1\npuppies n 1 1 @ 1 1 0"),
        (b"puppy n 1 1 @ 1 1 ", b"puppy n 1 1 @ 1 1 x"),
        (b"puppy n 1 1 @ 1 1", b"puppy"),
    ],
    ids=["synsets", "pointers", "verb", "negative", "huge", "text", "long", "none", "after-space", "cut"],
)
def test_invalid_index_line_raises_an_error_with_its_number(copy, old, new):
    path = copy / "index.noun"
    number = path.read_bytes()[: path.read_bytes().index(old)].count(b"\n") + 1
    changed(path, old, new)
    with pytest.raises(DataError, match=f"^{re.escape(str(path))}:{number}: expected a lemma, n, numbers") as caught:
        WordNet(copy)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b" 05 n 01 puppy 0 001", b" 05 n 01 puppy 0 002", "not a synset as in WordNet's data files"),
        (b" 05 n 01 puppy 0 001", b" 05 n 01 puppy 0 0x1", "not a synset"),
        (b" 05 n 01 puppy 0 001", b" 05 n 0g puppy 0 001", "not a synset"),
        (b" 05 n 01 puppy 0 001", b" 05 n ff puppy 0 001", "not a synset"),
        (b" 05 n 01 puppy 0 001", b" 05 n |1 puppy 0 001", "not a synset"),
        (b"puppy 0 001 @ 0", b"puppy 0 001 @ x", "not a synset"),
        (b" n 0000 | a gloss | x  \n", b" q 0000 | a gloss | x  \n", "not a synset"),
    ],
    ids=["another-offset", "hexadecimal-offset", "half-a-count", "huge-count", "no-count", "pointers", "kind"],
)
def test_invalid_synset_raises_an_error_with_its_byte(copy, old, new, message):
    path = copy / "data.noun"
    offset = data_files()[1]["puppy"][1]
    data = path.read_bytes()
    path.write_bytes(data[:offset] + data[offset:].replace(old, new, 1))
    assert path.read_bytes() != data
    with pytest.raises(DataError, match=f"^{re.escape(str(path))}: byte {offset}: {message}"):
        WordNet(copy).chain("puppy")


@pytest.mark.parametrize("shift", [1, -1, 10, 900_000])
def test_an_offset_at_which_no_synset_begins_raises_an_error(copy, shift):
    """This also finds files whose line ends were converted."""
    offset = data_files()[1]["puppy"][1]
    changed(copy / "index.noun", b"%08d" % offset, b"%08d" % (offset + shift))
    with pytest.raises(DataError, match=rf"data\.noun: byte {offset + shift}: no synset begins here"):
        WordNet(copy).chain("puppy")


def test_a_number_inside_a_gloss_is_no_synset(copy):
    """The number of the byte alone does not begin a line."""
    path = copy / "data.noun"
    size = len(path.read_bytes())
    path.write_bytes(path.read_bytes() + b"x%08d 03 n 01 y 0 000 | z  \n" % (size + 1))
    changed(copy / "index.noun", b"%08d" % data_files()[1]["puppy"][1], b"%08d" % (size + 1))
    with pytest.raises(DataError, match="no synset begins here"):
        WordNet(copy).chain("puppy")


def test_invalid_exceptions_raise_an_error_with_the_line(copy):
    (copy / "verb.exc").write_bytes(b"ran run\n\nwas\n")
    with pytest.raises(DataError, match=r"verb\.exc:3: expected an inflected form and its lemma, got b'was"):
        WordNet(copy)


def test_missing_files_and_folders_are_reported(copy, tmp_path):
    with pytest.raises(InputMissing, match="not a folder: name the folder `dict` of WordNet"):
        WordNet(tmp_path / "nothing")
    with pytest.raises(InputMissing, match="not a folder"):
        WordNet(copy / "data.noun")
    (copy / "data.adj").unlink()
    with pytest.raises(InputMissing, match=r"data\.adj cannot be opened"):
        WordNet(copy)


@pytest.mark.parametrize("name", ["index.verb", "data.verb", "verb.exc"])
def test_files_that_are_too_large_are_rejected(copy, monkeypatch, name):
    for limit, good in ((len((copy / name).read_bytes()), True), (len((copy / name).read_bytes()) - 1, False)):
        for path in copy.iterdir():
            if path.name != name:
                path.write_bytes(b"")
        monkeypatch.setattr(wordnet, "MAX_FILE_BYTES", limit)
        if good:
            WordNet(copy)
        else:
            with pytest.raises(DataError, match=rf"{re.escape(name)}.*more than {limit:,} bytes"):
                WordNet(copy)


@contextmanager
def one_line():
    """Check that an error is one line and not too long."""
    try:
        yield
    except DataError as error:
        message = str(error)
        raise AssertionError(message) if "\n" in message or len(message) > 500 else error from None


@given(st.data())
def test_damaged_files_give_chains_or_an_error_of_one_line(tmp_path_factory, data):
    """Cut, overwrite or insert bytes anywhere in one of the files."""
    copy = write_wordnet(tmp_path_factory.getbasetemp() / "damaged")
    path = copy / data.draw(st.sampled_from(sorted(p.name for p in copy.iterdir())))
    whole = path.read_bytes()
    at = data.draw(st.integers(0, len(whole)))
    new = data.draw(st.one_of(st.binary(max_size=12), st.sampled_from([b"9" * 9, b"00000000", b" ", b"\n", b"|"])))
    path.write_bytes(whole[:at] + new + whole[at + data.draw(st.integers(0, 12)) :])
    with suppress(DataError), one_line():
        database = WordNet(copy)
        for word in WORDS.split():
            chain = database.chain(word)
            assert chain is None or 2 <= len(chain) <= wordnet.MAX_CHAIN_SYNSETS + 1
