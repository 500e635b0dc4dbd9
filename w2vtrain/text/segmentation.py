"""Recognize text of writing systems without spaces between words, which must be segmented before it is counted."""

import re

UNSEGMENTED_SHARE = 0.2  # text is unsegmented if more than this share of its characters is in overlong runs

# Writing systems without spaces between words: name, letters, length that few words exceed, segmenters.
SCRIPTS = (
    (
        "Chinese or Japanese",
        "\u3005-\u3007\u3040-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff",
        8,
        "jieba or MeCab",
    ),
    (
        "Thai, Lao, Khmer or Burmese",
        "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\ua9e0-\ua9ff\uaa60-\uaa7f",
        20,
        "PyThaiNLP or ICU",
    ),
)
_NOT_LETTERS = tuple(re.compile(rf"[^\s{letters}]+") for _, letters, _, _ in SCRIPTS)


def unsegmented(sample: bytes) -> list[str]:
    """Describe each group of scripts if much of the text is runs of its letters that are longer than words.

    sample: the beginning of the text, in UTF-8 that may be cut anywhere or contain invalid bytes. This never fails, and
    takes time linear in its size.
    """
    if sample.isascii():
        return []
    text = sample.decode("utf-8", "ignore")
    enough = UNSEGMENTED_SHARE * sum(map(len, text.split()))
    return [
        f"{script} without spaces between words, so whole sentences would become words:"
        f" segment it first, for example with {tools}"
        for (script, _, longest, tools), others in zip(SCRIPTS, _NOT_LETTERS, strict=True)
        if sum(len(run) for run in others.sub("", text).split() if len(run) > longest) > enough
    ]
