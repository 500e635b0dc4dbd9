"""Warnings about a corpus that is not text with separate words, and about subsampling that drops too much of it."""

import random
from collections import Counter
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from reference import encode

from w2vtrain.probability.subsampling import keep_thresholds
from w2vtrain.text.source import SAMPLE_BYTES
from w2vtrain.text.text_files import Corpus
from w2vtrain.text.tokenizers import REWRITING
from w2vtrain.training.suspicions import punctuated, suspicions, thinned

WIKI = Path(__file__).parents[2] / "data/simplewiki.txt"
KMERS = ["".join(letters) for letters in product("ACGT", repeat=3)]
RNG = random.Random(1)

CHINESE = """北京是中华人民共和国的首都，也是全国的政治中心和文化中心。
语言学家研究人类语言的结构、意义和使用方式，他们常常比较不同的语言。
今天天气很好，我们决定一起去公园散步，然后在湖边吃午饭。
"""
SEGMENTED_CHINESE = """北京 是 中华 人民 共和国 的 首都 ， 也 是 全国 的 政治 中心 和 文化 中心 。
语言学家 研究 人类 语言 的 结构 、 意义 和 使用 方式 ， 他们 常常 比较 不同 的 语言 。
今天 天气 很 好 ， 我们 决定 一起 去 公园 散步 ， 然后 在 湖边 吃 午饭 。
"""
JAPANESE = """吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。
何でも薄暗いじめじめした所でニャーニャー泣いていた事だけは記憶している。
東京は日本の首都であり、世界でも最大級の都市の一つである。
"""
SEGMENTED_JAPANESE = """吾輩 は 猫 で ある 。 名前 は まだ 無い 。 コンピューター と インターネット
東京 は 日本 の 首都 で あり 、 世界 でも 最大 級 の 都市 の 一つ で ある 。
"""
THAI = """กรุงเทพมหานครเป็นเมืองหลวงและนครที่มีประชากรมากที่สุดของประเทศไทย เป็นศูนย์กลางการปกครอง
วันนี้อากาศดีมากเราจึงไปเดินเล่นที่สวนสาธารณะด้วยกัน
"""
SEGMENTED_THAI = """กรุงเทพมหานคร เป็น เมืองหลวง และ นคร ที่ มี ประชากร มาก ที่สุด ของ ประเทศ ไทย
วันนี้ อากาศ ดี มาก เรา จึง ไป เดินเล่น ที่ สวนสาธารณะ ด้วยกัน
"""
LAO = "ນະຄອນຫຼວງວຽງຈັນເປັນນະຄອນຫຼວງຂອງສາທາລະນະລັດປະຊາທິປະໄຕປະຊາຊົນລາວ\n"
KHMER = "ភ្នំពេញគឺជារាជធានីនិងជាទីក្រុងធំបំផុតនៃព្រះរាជាណាចក្រកម្ពុជា\n"
BURMESE = "ရန်ကုန်မြို့သည်မြန်မာနိုင်ငံ၏အကြီးဆုံးမြို့ဖြစ်သည်\n"
KOREAN = """서울특별시는 대한민국의 수도이자 최대 도시이다. 한강이 도시 가운데를 흐른다.
오늘은 날씨가 좋아서 우리는 함께 공원에 산책하러 갔다. 大韓民國 헌법은 1948년에 만들어졌다.
"""
VIETNAMESE = "Hà Nội là thủ đô của nước Cộng hòa xã hội chủ nghĩa Việt Nam, và là thành phố lớn thứ hai.\n"
GERMAN = """Die Donaudampfschifffahrtsgesellschaft, gegründet in Wien, war lange die größte Reederei, sagt man.
Heute regnet es, morgen scheint die Sonne, und übermorgen weiß niemand, wie das Wetter wird.
"""
ENGLISH = """Mao Zedong (毛泽东) was born in Shaoshan (韶山), Hunan, and the People's Republic of China (中华人民共和国,
pinyin Zhōnghuá Rénmín Gònghéguó) was proclaimed in Beijing (北京) on October 1, 1949, a Saturday.
"""
POEM = """Tyger Tyger, burning bright,
In the forests of the night;
What immortal hand or eye,
Could frame thy fearful symmetry?

In what distant deeps or skies,
Burnt the fire of thine eyes?
"""
LOG = "".join(
    f"2024-05-01 12:{i:02}:07,{i * 13} INFO [worker-{i % 3}] GET /index.html; {i} bytes, status 200\n"
    f"2024-05-01 12:{i:02}:09,{i * 17} WARN [main] cache is full: 3 entries, 2 of them stale, were dropped\n"
    for i in range(40)
)

WORDS = ["the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog", "while", "seven", "wizards", "brew"]


def sentence(n=8):
    return " ".join(RNG.choices(WORDS, k=n))


def lines(make, n=60):
    return "".join(make(i) + "\n" for i in range(n))


TABLES = {
    "commas": lines(lambda i: f"{i},2024-05-{i % 28 + 1:02},{sentence()}"),
    "quoted": lines(lambda i: f'{i},"{sentence(3)}, {sentence(2)} ""and"" more{", really" * (i % 4)}",{i % 2}'),
    "line ends in quotes": lines(lambda i: f'{i},"{sentence(3)},' + "\n\n,,\n" * (i % 3) + f'{sentence(3)}",{i % 2}'),
    "header and a comment": "# exported, 2024\nid,label,text\n" + lines(lambda i: f"{i},pos,{sentence()}"),
    "Windows line ends": lines(lambda i: f"{i},pos,{sentence()}\r"),
    "semicolons": lines(lambda i: f"{i};{sentence(3)}, {sentence(2)}{', yes' * (i % 3)};{i % 5}"),
    "tabs": lines(lambda i: f"{i}\teng\t{sentence(3)}, {sentence(2)}"),
    "pipes": lines(lambda i: f"{i}|{sentence(3)}|01-Jan-1995||http://example.org/{i}"),
}
JSON = {
    "spaces": lines(lambda i: f'{{"id": {i}, "text": "{sentence()}, {sentence()}", "tags": ["a", "b"]}}'),
    "compact": lines(lambda i: f'{{"id":{i},"text":"{sentence()}","stars":5}}'),
    "few": lines(lambda i: f'{{"text": "{sentence()}"}}', 3),
    "one": '{"text": "a b c"}\n',
    "an array": '[{"text": "a b c"}, {"text": "d"}]\n',
    "an array in lines": '[\n  {\n    "text": "a b c"\n  }\n]\n',
}
TEXTS = {
    "English with Chinese names": ENGLISH * 20,
    "German": GERMAN * 20,
    "Korean": KOREAN * 20,
    "Vietnamese": VIETNAMESE * 20,
    "segmented Chinese": SEGMENTED_CHINESE * 20,
    "segmented Japanese": SEGMENTED_JAPANESE * 20,
    "segmented Thai": SEGMENTED_THAI * 20,
    "poem": POEM * 20,
    "log": LOG,
    "k-mers": lines(lambda i: " ".join(RNG.choices(KMERS, k=30))),
    "sentences of one length with tabs between words": lines(lambda i: "\t".join(RNG.choices(KMERS, k=5))),
    "sentences of one pattern": lines(lambda i: f"{sentence(3)}, {sentence(2)}, and {sentence(4)}."),
    "dialogue": lines(lambda i: f'"{sentence(3)}," said {sentence(1)}, "{sentence(3)}, too."'),
    "verses": lines(lambda i: f"{sentence(4)} | {sentence(4)} || {i} ||"),
    "word list": lines(lambda i: f"{sentence(1)}{i}", 2000),
    "sentences of numbers": lines(lambda i: " ".join(str(RNG.randrange(500)) for _ in range(6))),
    "two numbers per sentence": lines(lambda i: f"{RNG.randrange(500)} {RNG.randrange(500)}"),
    "edges of a graph": lines(lambda i: f"user{i % 40} {RNG.randrange(500)}"),
    "a few numbered headings": "chapter 1\nchapter 2\nchapter 3\nchapter 4\nchapter 5\n" + POEM,
    "JSON inside prose": POEM + '{"a": 1}\n' + POEM,
    "code": lines(lambda i: "\n".join(["def f(a, b):", "\tif a[1, 2, 3]:", "\t\treturn {'a': 1}", "}", "x = 2"])),
    "a short table": lines(lambda i: f"{i},pos,{sentence()}", 10),
    "a line of markup, and lines of documents": f"<doc id=1>\n{POEM}</doc>\n<html>\n",
    "empty": "",
}


@pytest.mark.parametrize("text", [CHINESE, JAPANESE, THAI, LAO, KHMER, BURMESE, CHINESE + ENGLISH.split("\n")[0]])
def test_text_without_spaces_between_words_warns_to_segment_it(text):
    (warning,) = suspicions(text.encode())
    assert "segment it first" in warning
    assert ("jieba or MeCab" if text[0] in CHINESE + JAPANESE else "PyThaiNLP") in warning


@pytest.mark.parametrize("text", TABLES.values(), ids=TABLES)
def test_table_warns_to_extract_its_text_column(text):
    (warning,) = suspicions(text.encode())
    assert "extract its text column first" in warning


def test_the_labels_of_classification_warn_that_they_become_words():
    (warning,) = suspicions("".join(f"__label__{i % 2} {line}\n" for i, line in enumerate(POEM.split("\n"))).encode())
    assert "leave them out, for example with sed -E 's/__label__[^ ]+ ?//g'" in warning
    assert not suspicions((POEM + "__label__1 is what fastText calls a label\n").encode())


def test_table_warning_gives_the_columns_and_the_separator():
    (warning,) = suspicions(TABLES["pipes"].encode(), "items.txt")
    assert warning.startswith("items.txt looks like a table of 5 columns separated by pipes: ")


@pytest.mark.parametrize("text", JSON.values(), ids=JSON)
def test_json_lines_warn_to_extract_the_text_field(text):
    (warning,) = suspicions(text.encode())
    assert ("JSON array" if text.startswith("[") else "JSON lines") in warning
    assert "name the field with the text with" in warning


def test_json_lines_of_arrays_warn_to_join_their_words():
    (warning,) = suspicions(lines(lambda i: f'["{sentence(1)}", "{sentence(1)}"]', 30).encode())
    assert "JSON arrays, not text: make text of them, for example with jq -r 'join" in warning


def test_table_of_unsegmented_text_gets_both_warnings():
    text = lines(lambda i: f"{i},pos,{CHINESE.splitlines()[i % 3]}").encode()
    assert [("table" in w, "segment it" in w) for w in suspicions(text)] == [(True, False), (False, True)]


@pytest.mark.parametrize("dim", [2, 300])
@pytest.mark.parametrize("header", [False, True])
def test_file_of_word_vectors_gets_a_warning(header, dim):
    def row(i):
        return f"{WORDS[i % 13]}{i} " + " ".join(f"{RNG.gauss(0, 1):.5f}" for _ in range(dim))

    text = (f"60 {dim}\n" if header else "") + lines(row)
    (warning,) = suspicions(text.encode())
    assert f"word vectors of {dim} dimensions" in warning


def test_vocabulary_file_gets_a_warning():
    (warning,) = suspicions(lines(lambda i: f"{WORDS[i % 13]}{i} {9000 // (i + 1)}").encode())
    assert "a vocabulary" in warning


@pytest.mark.parametrize("start", ["<!DOCTYPE html>\n<html>", "\n<HTML lang=en>", "<mediawiki xmlns=x>", "<?xml ?><a>"])
def test_markup_gets_a_warning_from_each_command_that_reads_a_corpus(start, tmp_path, w2vtrain_here):
    (tmp_path / "page").write_text(f"\ufeff{start}\n{POEM}" * 9, encoding="utf-8")
    for words in (["vocab", "page"], ["fit", "page", "-o", "v.txt", "--dry-run"]):
        code, out, said = w2vtrain_here(words, tmp_path)
        assert (code, "page looks like HTML or XML, not text: extract its text first" in out + said) == (0, True)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_text_with_separate_words_gets_no_warning(text):
    assert suspicions(text.encode()) == []


@pytest.mark.parametrize("text", [CHINESE, CHINESE * 9, THAI * 3])
def test_text_without_spaces_is_to_be_segmented_before_other_advice(text, tmp_path, w2vtrain_here):
    (tmp_path / "t.txt").write_text(text, encoding="utf-8")
    for words in (["vocab", "t.txt", "--min-count", "20"], ["fit", "t.txt", "-o", "v.txt", "--min-count", "20"]):
        code, _, said = w2vtrain_here(words, tmp_path)
        assert (code, "segment it first" in said, "--min-count" in said) == (65, True, False)


def test_results_among_the_files_of_a_text_are_named(tmp_path, w2vtrain_here):
    (tmp_path / "a.txt").write_bytes(WIKI.read_bytes()[:50_000])
    (tmp_path / "b.txt").write_bytes(WIKI.read_bytes()[50_000:60_000])
    options = ["--vector-size", "8", "--epochs", "1", "--threads", "1"]
    for run in range(2):
        code, _, said = w2vtrain_here(["fit", "*.txt", "-o", "../c.bin", *options, "--force"], tmp_path)
        assert code == 0, said
        assert ("results.txt looks like word vectors of 8 dimensions, not text" in said) == bool(run)
        assert w2vtrain_here(["convert", "../c.bin", "-o", "results.txt", "--force"], tmp_path)[0] == 0


def test_the_demo_corpus_gets_no_warning():
    assert suspicions(WIKI.read_bytes()[:SAMPLE_BYTES]) == []


def test_sample_may_end_inside_a_character_or_a_line():
    for text, word in ((CHINESE, "segment it"), (TABLES["quoted"], "table"), (JSON["spaces"], "JSON")):
        data = text.encode()
        for end in range(len(data) - 9, len(data)):
            (warning,) = suspicions(data[:end])
            assert word in warning


PIECES = [b'"', b",", b"\t", b"|", b"\n", b"\r", b" ", b"{", b"}", b"[", b"a", b"1", b"-1", b"1.5", b"nan", b"1e999"]
PIECES += [b"2 3\n", b"99999999999999999 -5\n", "中".encode(), "ก".encode(), b"\xff", b"\xe4\xb8", b"\0", b"\x1c"]
PIECES += [b"\xef\xbb\xbf", b'{"a": 1}\n', b"w 5\n", b"w 1.5 2\n", b'1,"a\nb",2\n', "\u3000\u2028".encode()]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES) | st.binary(max_size=5), max_size=40).map(b"".join), st.integers(1, 40))
@example(b"\0" * 8 + b'{"', 1)
@example(b'{"a":' + b"[" * 5000 + b"\n", 3)
def test_any_bytes_give_only_one_line_warnings(data, times):
    for warning in suspicions(data * times, "name"):
        assert warning.startswith("name looks like ")
        assert "\n" not in warning


@pytest.mark.parametrize("tokenizer", ["whitespace", *REWRITING])
@pytest.mark.parametrize("block", [1, 1 << 22])
def test_encoded_corpus_keeps_a_sample_of_the_text_before_the_tokenizer(tmp_path, tokenizer, block):
    (tmp_path / "1").write_bytes(b"\xef\xbb\xbfOne,TWO,3\xc2\xa0x b")
    (tmp_path / "2").write_bytes(b"b One,\nb\xff")
    (tmp_path / "3").write_bytes(b"")
    corpus = Corpus([str(tmp_path)], tokenizer, block_bytes=block)
    ids = encode(corpus, min_count=1, threads=2)
    assert ids.sample == b"One,TWO,3\xc2\xa0x b\nb One,\nb\xff\n"


def test_sample_is_the_beginning_of_the_text_up_to_a_limit(tmp_path):
    text = b"".join(b"%d one\n" % i for i in range(100_000))
    (tmp_path / "1").write_bytes(text[:300_001])
    (tmp_path / "2").write_bytes(text)
    ids = encode(Corpus([str(tmp_path)]), min_count=1)
    assert ids.sample == (text[:300_001] + b"\n" + text)[:SAMPLE_BYTES]
    assert len(ids.sample) == SAMPLE_BYTES


def test_reported_share_agrees_with_subsampling_in_training():
    counts = np.array([900, 90, 9, 1])
    thinning = thinned(counts, 1e-2)
    keep = np.minimum(1, np.sqrt(1e-2 / (counts / 1000)) + 1e-2 / (counts / 1000))
    assert thinning.share == pytest.approx(float(counts @ keep) / 1000, rel=1e-6)
    bits = np.random.default_rng(1).integers(0, 2**32, (20_000, 4))
    drawn = (bits <= keep_thresholds(counts, 1e-2)).mean(0) @ counts
    assert thinning.share == pytest.approx(drawn / 1000, rel=0.05)


@pytest.mark.parametrize("size,share", [(2, 0.0467), (64, 0.317), (256, 0.762)])
def test_subsampling_a_few_equally_frequent_words_warns(size, share):
    thinning = thinned(np.full(size, 1000), 1e-3)
    assert thinning.share == pytest.approx(share, abs=1e-3)
    assert f"keeps only {share:.0%} of the words" in thinning.warning
    assert f"{size} of the {size} words" in thinning.warning
    assert "sample=0" in thinning.warning


def test_all_words_are_kept_with_sample_0_or_below_the_threshold():
    for counts, sample in ((np.full(64, 1000), 0), (np.full(4096, 1000), 1e-3), (np.array([10**9, 1]), 0.0)):
        thinning = thinned(counts, sample)
        assert thinning == (1.0, None)


@pytest.mark.parametrize("first,min_count", [(None, 5), (300, 1)])
def test_subsampling_natural_language_does_not_warn(first, min_count):
    found = Counter(word for line in WIKI.read_bytes().split(b"\n")[:first] for word in line.split())
    thinning = thinned(np.array([n for n in found.values() if n >= min_count]), 1e-3)
    assert 0.7 < thinning.share < 0.8
    assert thinning.warning is None


RAW = "It was late, and the house (which was old) burned. Nobody came, she said: why? Never!"
PREPARED = "It was late , and the house ( which was old ) burned . ? ... -- u.s"


def test_raw_text_is_told_from_text_whose_punctuation_was_separated():
    raw, prepared = Counter(RAW.split()), Counter(PREPARED.split())
    hint = punctuated(list(raw), np.array(list(raw.values())))
    start = "44% of the words end in punctuation, such as 'late,' and 'old)': tokenizer='simple' "
    assert hint.startswith(start)
    assert punctuated(list(prepared), np.array(list(prepared.values()))) is None


@pytest.mark.parametrize(("ending", "others", "hints"), [(3, 97, True), (29, 971, False), (0, 5, False)])
def test_the_share_of_the_words_of_the_text_decides(ending, others, hints):
    found = punctuated(["plain", "end."], np.array([others, ending]))
    assert (found is not None) == hints
