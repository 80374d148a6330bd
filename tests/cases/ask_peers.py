#!/usr/bin/env python3
"""Rows of random patterns and einsums, as einops and numpy judge them, in the form of data/*.jsonl: what the recorded
corpora do not happen to have. Half of the patterns are damaged by one edit; most of those are refused.
  ask_peers.py SEED ROWS >rows.jsonl && scripts/run-cases.sh rows.jsonl     (einops 0.8.2, numpy 2.4)
"""
import hashlib
import json
import random
import sys
import warnings

import einops
import numpy as np

NAMES = ["a", "b", "c", "h", "w", "h1", "h2", "batch", "seq", "C", "T", "xDim", "n_heads", "é", "βeta"]
RULES = {
    "arange": "arange float32 of numel, row-major",
    "mix101": "float32 ((i * 37 + 11) % 101) - 50, i = 0..numel-1, row-major",
}


def identified(prefix, key):
    return prefix + hashlib.sha1(repr(key).encode()).hexdigest()[:12]


def checksums(values):
    flat = np.asarray(values, dtype=np.float64).reshape(-1)
    return {
        "out_sum_weighted": float((flat * (np.arange(flat.size) % 97 + 1)).sum()),
        "out_first8": [float(x) for x in flat[:8]],
    }


# ---- rearrange, reduce, repeat


class Call:
    def __init__(self, rng):
        self.op = rng.choice(["rearrange", "reduce", "repeat"])
        self.reduction = rng.choice(["sum", "min", "max", "mean"]) if self.op == "reduce" else None
        labels = rng.sample(NAMES, rng.randint(0, 6))
        self.size = {a: rng.choice([1, 2, 2, 3, 4, 5]) for a in labels}
        if labels and rng.random() < 0.04:
            self.size[rng.choice(labels)] = 0
        self.axes, self.shape = {}, []
        left, right = list(labels), list(labels)
        insert = lambda into, what: into.insert(rng.randint(0, len(into)), what)
        if self.op == "reduce":
            right = [a for a in right if rng.random() < 0.55]
            for _ in range(rng.choice([0, 0, 1, 2])):
                insert(left, rng.choice(["2", "3", "4"]))
        if self.op == "repeat":
            for a in rng.sample([n for n in NAMES if n not in labels], rng.randint(0, 2)):
                self.axes[a] = self.size[a] = rng.choice([1, 2, 3])
                right.append(a)
            if rng.random() < 0.3:
                right.append(rng.choice(["2", "3"]))
        rng.shuffle(right)
        for side in (left, right):
            for _ in range(rng.choice([0, 0, 0, 1])):
                insert(side, "1")
        ellipsis = [rng.choice([1, 2, 3]) for _ in range(rng.randint(0, 3))] if rng.random() < 0.35 else None
        if ellipsis is not None and (self.op != "reduce" or rng.random() < 0.6):
            insert(right, "...")  # in parentheses too
        left, right = self.grouped(left, rng), self.grouped(right, rng)
        if ellipsis is not None:
            insert(left, "...")
        for side in (left, right):
            if rng.random() < 0.25:
                insert(side, [])
        self.measure(left, ellipsis, rng)
        arrow = rng.choice([" -> "] * 6 + ["->", "  ->"])
        self.pattern = rng.choice(["", "", " "]) + self.spelled(left, rng) + arrow + self.spelled(right, rng)

    @staticmethod
    def grouped(labels, rng):
        groups, i = [], 0
        while i < len(labels):
            if rng.random() < 0.35:
                n = rng.randint(1, 3)
                groups.append(labels[i : i + n])
                i += n
            else:
                groups.append(labels[i])
                i += 1
        return groups

    @staticmethod
    def spelled(groups, rng):
        space = lambda: rng.choice([" "] * 8 + ["  ", "   "])
        text = ""
        for g in groups:
            word = g
            if not isinstance(g, str):
                word = "(" + rng.choice(["", " "]) + space().join(g) + rng.choice(["", " "]) + ")"
            glued = text and (word[0] == "(" or text[-1] == ")") and rng.random() < 0.2
            text += ("" if not text or glued else space()) + word
        return text

    def measure(self, left, ellipsis, rng):
        """The operand's shape, and which sizes the caller says."""
        size = lambda label: int(label) if label.isdigit() else self.size[label]
        for g in left:
            if g == "...":
                self.shape += ellipsis
                continue
            labels = [g] if isinstance(g, str) else g
            n = int(np.prod([size(x) for x in labels], dtype=np.int64))
            self.shape.append(n)
            named = [x for x in labels if not x.isdigit()]
            inferred = rng.choice(named) if named and n > 0 and rng.random() < 0.8 else None
            for x in named:
                if (x != inferred and not isinstance(g, str)) or (isinstance(g, str) and rng.random() < 0.1):
                    self.axes[x] = self.size[x]

    def damage(self, rng):
        """One edit, which most often leaves nothing that fits."""
        at = rng.randrange(len(self.pattern) + 1)
        words = [w for w in self.pattern.replace("(", " ").replace(")", " ").split() if w.isidentifier()]
        kind = rng.randint(0, 14)
        if kind == 0 and self.shape:
            self.shape[rng.randrange(len(self.shape))] += 1
        elif kind == 1:
            self.shape.append(2)
        elif kind == 2 and self.shape:
            self.shape.pop()
        elif kind == 3:
            odd = ["(", ")", "..", ".", "...", "1", "2", "0", "_", "-", ",", "->", ">", "a", "b", " q ", "*", "é", "'"]
            self.pattern = self.pattern[:at] + rng.choice(odd) + self.pattern[at:]
        elif kind == 4:
            self.pattern = self.pattern[:at] + self.pattern[at + 1 :]
        elif kind == 5 and self.axes:
            self.axes.pop(rng.choice(list(self.axes)))
        elif kind == 6:
            self.axes["zz"] = 2
        elif kind == 7 and self.axes:
            self.axes[rng.choice(list(self.axes))] += 1
        elif kind == 8:
            self.op = rng.choice(["rearrange", "reduce", "repeat"])
            self.reduction = "sum" if self.op == "reduce" else None
        elif kind == 9:
            left, _, right = self.pattern.partition("->")
            self.pattern = right + "->" + left
        elif kind == 10:
            words = self.pattern.split(" ")
            rng.shuffle(words)
            self.pattern = " ".join(words)
        elif kind == 11:
            self.pattern = self.pattern.replace("...", "")
        elif kind == 12 and words:
            word = rng.choice(words)
            worse = rng.choice([word + "_", "_" + word, word + "x", "1" + word])
            self.pattern = self.pattern.replace(word, worse, 1)
        elif kind == 13:
            nested = self.pattern.replace("(", "((", 1).replace(")", "))", 1)
            self.pattern = rng.choice([self.pattern.replace("(", "", 1), nested])
        elif kind == 14:
            self.pattern = self.pattern.replace(" ", " ... ", 1)

    def row(self, rng):
        key = (self.op, self.pattern, self.shape, sorted(self.axes.items()), self.reduction)
        row = {"id": identified("ask-", key), "op": self.op, "pattern": self.pattern, "in_shape": self.shape,
               "axes": self.axes}
        if self.reduction:
            row["reduction"] = self.reduction
        rule = rng.choice(["arange", "mix101"]) if self.op == "reduce" else "arange"
        i = np.arange(int(np.prod(self.shape, dtype=np.int64)))
        x = (i if rule == "arange" else (i * 37 + 11) % 101 - 50).astype(np.float64).reshape(self.shape)
        call = getattr(einops, self.op)
        given = [x, self.pattern] + ([self.reduction] if self.reduction else [])
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of the mean of nothing
                y = call(*given, **self.axes)
        except Exception as refusal:  # of whatever kind: zero-size minima are numpy's to refuse
            said = str(refusal).replace("\n", " / ")
            return row | {"ok": False, "why": said[-120:], "category": "asked", "needs": "sizes", "peer": "einops",
                          "peer_exception": type(refusal).__name__, "peer_message": said,
                          "accepted_elsewhere": [], "source": "ask_peers.py"}
        if not np.all(np.isfinite(y)):
            return None  # JSON has no NaN
        row |= {"ok": True, "out_shape": list(y.shape), "in_data": rule, "in_data_rule": RULES[rule], **checksums(y),
                "rtol": 0.0, "tags": [], "source": "ask_peers.py"}
        if self.reduction == "mean":
            row |= {"rtol": 1e-6, "out_abs_weighted": checksums(np.abs(y))["out_sum_weighted"]}
        return row


# ---- einsum


def points(labels, size):
    return int(np.prod([size[x] for x in labels], dtype=np.int64))


def optimal_flops(terms, result, size, sums_first):
    """Least over all orders of pairwise contraction; `sums_first`: a term may be summed over its own labels before."""
    n = len(terms)
    best = {}
    for k, term in enumerate(terms):
        best[1 << k] = [(0, frozenset(term))]
        others = set(result).union(*(t for j, t in enumerate(terms) if j != k))
        if sums_first and term - others:
            best[1 << k].append((points(term, size), frozenset(term & others)))
    for some in range(1, 1 << n):
        if some in best:
            continue
        inside = set().union(*(terms[k] for k in range(n) if some >> k & 1))
        outside = set(result).union(*(terms[k] for k in range(n) if not some >> k & 1))
        kept, least, part = frozenset(inside & outside), None, (some - 1) & some
        while part:
            for cost, labels in best[part]:
                for other_cost, other_labels in best[some ^ part]:
                    every = labels | other_labels
                    total = cost + other_cost + points(every, size) * (2 if every - kept else 1)
                    least = total if least is None else min(least, total)
            part = (part - 1) & some
        best[some] = [(least, kept)]
    return min(cost for cost, _ in best[(1 << n) - 1])


def einsum_row(rng):
    n = rng.choice([1, 1, 2, 2, 2, 2, 3, 3, 4, 5, 6, 7])
    labels = rng.sample("abcdefghijklmnop", rng.randint(1, min(9, n + 4)))
    size = {x: rng.choice([1, 2, 2, 3, 3, 4, 5]) for x in labels}
    dots = [rng.choice([2, 3]) for _ in range(rng.randint(0, 2))] if rng.random() < 0.25 else None
    size |= {f".{d}": s for d, s in enumerate(dots or [])}
    spelled, shapes, terms = [], [], []
    for k in range(n):
        count = rng.randint(0 if n > 1 else 1, min(4, len(labels)))
        own = rng.choices(labels, k=count) if rng.random() < 0.2 else rng.sample(labels, count)
        shape = [size[x] for x in own]
        terms.append(set(own))
        if dots is not None and (k == 0 or rng.random() < 0.7):
            at = rng.randint(0, len(own))
            own.insert(at, "...")
            shape[at:at] = dots
            terms[-1] |= {f".{d}" for d in range(len(dots))}
        spelled.append(own)
        shapes.append(shape)
    used = [x for x in labels if any(x in t for t in terms)]
    result = [x for x in used if rng.random() < 0.45]
    rng.shuffle(result)
    kept = set(result)
    if dots is not None:
        result.insert(rng.randint(0, len(result)), "...")
        kept |= {f".{d}" for d in range(len(dots))}
    if points(set().union(*terms), size) > 300_000:
        return None
    equation = ",".join("".join(t) for t in spelled) + "->" + "".join(result)
    named = ", ".join(" ".join(t) for t in spelled) + " -> " + " ".join(result)
    operand = lambda k, s: (np.arange(int(np.prod(s))) % (7 + 2 * k) - 3.0).reshape(s)
    data = [operand(k, s) for k, s in enumerate(shapes)]
    most = float(np.max(np.einsum(equation, *map(np.abs, data))))
    if most >= 2**24:
        return None
    y = np.einsum(equation, *data)
    row = {"id": identified("ask-es-", (equation, shapes)), "group": "plain", "equation": equation,
           "equation_explicit": equation, "named": named, "shapes": shapes, "n_operands": n, "out_shape": list(y.shape),
           "features": [], "numeric": True, **checksums(y), "abs_max": most, "source": "ask_peers.py",
           "in_data_rule": "operand k (k = 0, 1, ...) = (arange(numel) % (7 + 2*k)) - 3 as float64, row-major"}
    if n > 1:
        row["optimal_flops"] = optimal_flops(terms, kept, size, False)
        row["optimal_flops_presum"] = optimal_flops(terms, kept, size, True)
    return row


def pattern_row(rng):
    call = Call(rng)
    if rng.random() < 0.5:
        call.damage(rng)
    if len(call.shape) > 9 or np.prod(call.shape, dtype=np.int64) > 20_000:
        return None
    return call.row(rng)


def main():
    if len(sys.argv) != 3 or not all(a.isdigit() for a in sys.argv[1:]):
        sys.exit(__doc__)
    rng, rows = random.Random(int(sys.argv[1])), {}
    while len(rows) < int(sys.argv[2]):
        row = pattern_row(rng) if rng.random() < 0.7 else einsum_row(rng)
        if row is not None:
            rows.setdefault(row["id"], row)
    for row in rows.values():
        print(json.dumps(row, ensure_ascii=False))


if __name__ == "__main__":
    main()
