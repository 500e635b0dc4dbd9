"""A small database in WordNet's file format, wndb(5WN), whose byte offsets are right."""

HEADER = "".join(f"  {number} A database in the format of WordNet 3.x, written for tests.  \n" for number in (1, 2))
# key: (lexicographer file, type, words, pointers), with a pointer as (symbol, key).
NOUNS = {
    "entity": (3, "n", ["entity"], [("~", "object")]),
    "object": (3, "n", ["object", "physical_object"], [("@", "entity"), ("~", "organism"), ("~", "artifact")]),
    "organism": (3, "n", ["organism", "being"], [("@", "object")]),
    "animal": (5, "n", ["animal", "beast"], [("@", "organism")]),
    "domestic": (5, "n", ["domestic_animal"], [("@", "animal")]),
    "dog": (5, "n", ["dog", "domestic_dog"], [("~", "puppy"), ("@", "animal"), ("@", "domestic")]),
    "puppy": (5, "n", ["puppy"], [("@", "dog")]),
    "mouse": (5, "n", ["mouse"], [("@", "animal")]),
    "person": (18, "n", ["person", "soul"], [("@", "organism")]),
    "man": (18, "n", ["man", "adult_male"], [("@", "person"), ("!", "animal")]),
    "artifact": (6, "n", ["artifact"], [("@", "object")]),
    "house": (6, "n", ["house"], [("@", "artifact")]),
    "city": (15, "n", ["city"], [("@", "object"), ("~i", "paris")]),
    "paris": (15, "n", ["Paris", "French_capital"], [("#p", "object"), ("@i", "city")]),
    "helium": (27, "n", ["helium", "He", "atomic_number_2"], [("@", "object")]),
    "run-score": (28, "n", ["run"], [("@", "object")]),
}
VERBS = {
    "move": (38, "v", ["travel", "go", "move"], []),
    "run": (38, "v", ["run"], [("!", "walk"), ("@", "move")]),
    "walk": (38, "v", ["walk"], [("@", "move")]),
    "dog-follow": (38, "v", ["chase", "dog", "trail"], [("@", "move")]),
    "be": (42, "v", ["be", "exist"], []),
    "inhibit": (41, "v", ["inhibit"], [("@", "restrain")]),
    "restrain": (41, "v", ["restrain"], [("@", "inhibit")]),
}
ADJECTIVES = {
    "big": (0, "a", ["large", "big"], [("!", "small"), ("&", "huge"), ("=", "object")]),
    "huge": (0, "s", ["huge", "immense"], [("&", "big")]),
    "small": (0, "a", ["small", "little"], [("!", "big")]),
    "atomic": (1, "a", ["atomic"], [("\\", "helium")]),
}
ADVERBS = {
    "hugely": (2, "r", ["hugely"], [("\\", "huge")]),
    "ever": (2, "r", ["ever", "always"], []),
}
DATABASE = {"noun": NOUNS, "verb": VERBS, "adj": ADJECTIVES, "adv": ADVERBS}
# Per part of speech, lemma: (keys of its synsets, the most frequent first; how many occur in tagged texts).
SENSES = {
    "noun": {"run": (["run-score"], 2), "man": (["man", "person"], 2), "he": (["helium"], 0)},
    "verb": {"run": (["run", "move"], 5), "dog": (["dog-follow"], 0), "be": (["be"], 9)},
    "adj": {},
    "adv": {},
}
EXCEPTIONS = {"noun": "mice mouse\nmen man\n", "verb": "ran run\nwas be\nis be\n", "adj": "bigger big\n", "adv": ""}
LETTERS = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}


def line_of(offset, synset, places):
    """Return the line of a synset. places: (letter, offset) of every synset by key."""
    number, kind, words, pointers = synset
    names = " ".join(f"{word} {i:x}" for i, word in enumerate(words))
    shown = "".join(f"{symbol} {places[key][1]:08} {places[key][0]} 0000 " for symbol, key in pointers)
    frames = "02 + 02 00 + 08 00 " if kind == "v" else ""
    return (
        f"{offset:08} {number:02} {kind} {len(words):02x} {names} {len(pointers):03} {shown}{frames}| a gloss | x  \n"
    )


def data_files():
    """Return the data files by part of speech, and (letter, offset) of every synset by key."""
    places = {key: (LETTERS[pos], 0) for pos, synsets in DATABASE.items() for key in synsets}
    files = {}
    for pos, synsets in DATABASE.items():
        at = len(HEADER)
        for key, synset in synsets.items():
            places[key] = LETTERS[pos], at
            at += len(line_of(at, synset, places))
    for pos, synsets in DATABASE.items():
        lines = (line_of(places[key][1], synset, places) for key, synset in synsets.items())
        files[pos] = HEADER + "".join(lines)
    return files, places


def index_of(pos, places):
    """Return an index file: lines `lemma pos synset_cnt p_cnt [symbols] sense_cnt tagsense_cnt offsets`, sorted."""
    senses = {word.lower(): ([key], 1) for key, synset in DATABASE[pos].items() for word in synset[2]} | SENSES[pos]
    lines = []
    for lemma, (keys, tagged) in sorted(senses.items()):
        symbols = sorted({symbol for key in keys for symbol, _ in DATABASE[pos][key][3]})
        numbers = " ".join(f"{places[key][1]:08}" for key in keys)
        front = " ".join([lemma, LETTERS[pos], str(len(keys)), str(len(symbols)), *symbols])
        lines.append(f"{front} {len(keys)} {tagged} {numbers}  \n")
    return HEADER + "".join(lines)


def write_wordnet(folder):
    """Write the database into a folder, which is created; return the folder."""
    folder.mkdir(exist_ok=True)
    files, places = data_files()
    for pos, data in files.items():
        (folder / f"data.{pos}").write_bytes(data.encode())
        (folder / f"index.{pos}").write_bytes(index_of(pos, places).encode())
        (folder / f"{pos}.exc").write_bytes(EXCEPTIONS[pos].encode())
    return folder
