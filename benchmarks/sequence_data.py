"""Make the sequences that are not text: sessions of a shop, a graph of digits, genes, and the log of a service.

Digits come from scikit-learn; all others are drawn with a seed.
"""

import random
import re

Link = tuple[str, str]


def sessions(
    count: int = 10_000, shelves: int = 25, per_shelf: int = 15, common: float = 0.1, seed: int = 1
) -> list[list[str]]:
    """Return sessions of a shop, of 3 to 10 different items: each visits a shelf, or two of them one after the other.

    An item of rank r on its shelf is drawn in proportion to 1 / r, and a share of all items from ten that sell with
    anything.
    """
    rng = random.Random(seed)
    weights = [1 / rank for rank in range(1, per_shelf + 1)]
    kept = []
    for _ in range(count):
        visited = sorted(rng.sample(range(shelves), rng.choice((1, 2))))
        length = rng.randint(3, 10)
        session: dict[str, None] = {}
        for place in range(length):
            shelf = visited[place * len(visited) // length]
            if rng.random() < common:
                session[f"bag{rng.randrange(10)}"] = None
            else:
                session[f"s{shelf}i{rng.choices(range(per_shelf), weights)[0]}"] = None
        if len(session) >= 3:
            kept.append(list(session))
    return kept


def digits(neighbors: int = 5) -> tuple[list[Link], dict[str, str]]:
    """Return the links of scikit-learn's 1,797 handwritten digits to their nearest images, and the digits' labels."""
    from sklearn.datasets import load_digits
    from sklearn.neighbors import kneighbors_graph

    images = load_digits()
    rows, columns = kneighbors_graph(images.data, neighbors).nonzero()
    links = sorted({(min(a, b), max(a, b)) for a, b in zip(rows.tolist(), columns.tolist(), strict=True)})
    labels = {f"image{number}": str(label) for number, label in enumerate(images.target)}
    return [(f"image{a}", f"image{b}") for a, b in links], labels


BASES = "TCAG"
AMINO_ACIDS = "FFLLSSSSYY**CC*WLLLLPPPPHHQQRRRRIIIMTTTTNNKKSSRRVVVVAAAADDEEGGGG"
CODE = dict(zip((a + b + c for a in BASES for b in BASES for c in BASES), AMINO_ACIDS, strict=True))
"""The standard genetic code: the amino acid of each codon, * for stop."""


def genes(
    families: int = 20, members: int = 40, length: int = 120, changed: float = 0.3, seed: int = 1
) -> list[tuple[str, str]]:
    """Return (family, DNA): proteins of common descent, some amino acids changed, codons drawn among synonyms."""
    rng = random.Random(seed)
    codons: dict[str, list[str]] = {}
    for codon, amino in CODE.items():
        codons.setdefault(amino, []).append(codon)
    sense = sorted(set(CODE.values()) - {"*"})
    labeled_genes = []
    for family in range(families):
        ancestor = rng.choices(sense, k=length)
        for _ in range(members):
            protein = [rng.choice(sense) if rng.random() < changed else amino for amino in ancestor]
            labeled_genes.append((f"family{family}", "".join(rng.choice(codons[amino]) for amino in protein)))
    return labeled_genes


def translated(dna: str) -> str:
    """Return the amino acids that the codons of a gene code."""
    return "".join(CODE[codon] for codon in kmers(dna, 3, 3))


def kmers(sequence: str, k: int, step: int = 1) -> list[str]:
    """Return the words of k letters that begin at every `step`th letter."""
    return [sequence[start : start + k] for start in range(0, len(sequence) - k + 1, step)]


REQUESTS = {
    "read": ("cache: looked up key {n}", "cache: missed key {n}", "disk: read {n} bytes of block {n}",
             "disk: checksum of block {n} is good", "cache: stored key {n}", "http: sent {n} bytes"),
    "write": ("lock: took lease {n}", "disk: allocated block {n}", "disk: wrote {n} bytes to block {n}",
              "replica: copied block {n} to node {n}", "replica: node {n} confirmed block {n}",
              "lock: released lease {n}"),
    "login": ("auth: challenge {n} sent", "auth: token {n} verified", "users: loaded profile {n}",
              "audit: user {n} signed in", "http: set cookie of {n} bytes"),
    "report": ("queue: job {n} waits", "queue: job {n} started", "table: scanned {n} rows", "table: sorted {n} rows",
               "mail: queued message {n}", "queue: job {n} finished"),
    "purge": ("lock: took lease {n}", "cache: evicted key {n}", "disk: freed block {n}",
              "replica: node {n} dropped block {n}", "audit: purge {n} recorded", "lock: released lease {n}"),
}  # fmt: skip
"""The events of each kind of request, between the first and last that all of them have."""


def logs(requests: int = 3000, faulty: float = 0.03, seed: int = 1) -> tuple[list[str], set[str]]:
    """Return the lines of a service's log and the requests that went wrong.

    Ten requests run at a time, so their lines are mixed. Any request may repeat events and swap two that are adjacent;
    one that goes wrong lacks a type of event, or has an event of another kind of request.
    """
    rng = random.Random(seed)
    events: list[list[str]] = []
    wrong = set()
    for request in range(requests):
        kind = rng.choice(list(REQUESTS))
        steps = [step for step in REQUESTS[kind] for _ in range(rng.choice((1, 1, 1, 2)))]
        if rng.random() < 0.3:
            at = rng.randrange(len(steps) - 1)
            steps[at : at + 2] = steps[at + 1], steps[at]
        if rng.random() < faulty:
            wrong.add(f"req{request}")
            spoil(steps, kind, rng)
        steps = ["http: accepted connection {n}", *steps, "http: closed connection {n}"]
        events.append([f"req{request} {step}" for step in steps])
    lines: list[str] = []
    running = [events.pop(0) for _ in range(min(10, len(events)))]
    while running:
        at = rng.randrange(len(running))
        line = re.sub(r"{n}", lambda _: str(rng.randrange(10, 10_000)), running[at].pop(0))
        lines.append(f"2026-01-01T{len(lines) // 3600 % 24:02}:{len(lines) // 60 % 60:02}:{len(lines) % 60:02} {line}")
        if not running[at]:
            running[at : at + 1] = [events.pop(0)] if events else []
    return lines, wrong


def spoil(steps: list[str], kind: str, rng: random.Random) -> None:
    """Leave out all events of one type, or replace an event with one of another kind of request."""
    if rng.random() < 0.5:
        missing = rng.choice(REQUESTS[kind][1:-1])
        steps[:] = [step for step in steps if step != missing]
    else:
        others = sorted({step for other in REQUESTS.values() for step in other} - set(REQUESTS[kind]))
        steps[rng.randrange(len(steps))] = rng.choice(others)


def event_sessions(lines: list[str]) -> dict[str, list[str]]:
    """Return the events of each request of a log: messages with numbers masked, as one word each."""
    sessions: dict[str, list[str]] = {}
    for line in lines:
        _, request, message = line.split(maxsplit=2)
        sessions.setdefault(request, []).append(re.sub(r"\d+", "#", message).replace(" ", "_"))
    return sessions
