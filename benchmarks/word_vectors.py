"""Makes mcpsol_py/catalog/field/vectors.txt, the vectors of words that search uses.

usage: python -m benchmarks.word_vectors MODEL IDLS...

MODEL: the folder of all-MiniLM-L6-v2 of sentence-transformers (Apache License 2.0), with model.safetensors and
vocab.txt, as some packages carry it. IDLS: folders of IDLs, whose words get vectors, and whose rare words count more.

The model reads each word alone. The two commonest directions of all vectors are taken out, 64 of the others are kept,
and each number becomes one of 64 digits. It takes some minutes.
"""

from __future__ import annotations

import json
import string
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcpsol_py import load
from mcpsol_py.catalog.documents import program_text
from mcpsol_py.catalog.words import FILLERS, stem, tokens
from mcpsol_py.errors import McpsolError

FIELD = Path(__file__).parents[1] / "mcpsol_py" / "catalog" / "field"
DIGITS = string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/"
HEADER = """\
# The meaning of words as vectors: a stem, and a digit for each of 64 numbers, from A (the least) to / (the greatest).
# Made by benchmarks/word_vectors.py from all-MiniLM-L6-v2 of sentence-transformers (Apache License 2.0).
"""
#: How many words of everyday English, directions that all words share, and numbers of a vector.
ENGLISH, SHARED, NUMBERS = 11_000, 2, 64
LAYERS, HEADS, SIZE = 6, 12, 384
#: The share of numbers that fit between the least and the greatest digit.
WITHIN = 0.999

Array = NDArray[np.float32]


class Model:
    """The encoder: a word becomes the mean of the vectors of its pieces."""

    def __init__(self, folder: Path) -> None:
        self.vocabulary = (folder / "vocab.txt").read_text("utf-8").splitlines()
        self._number = {piece: number for number, piece in enumerate(self.vocabulary)}
        self._weights = dict(_tensors((folder / "model.safetensors").read_bytes()))

    def vectors(self, words: Sequence[str]) -> Array:
        """Return a vector for each word."""
        pieces = [self._pieces(word) for word in words]
        out = np.zeros((len(words), SIZE), np.float32)
        for length in sorted(set(map(len, pieces))):
            these = [number for number, one in enumerate(pieces) if len(one) == length]
            for start in range(0, len(these), 64):
                some = these[start : start + 64]
                out[some] = self._encoded(
                    np.array([pieces[number] for number in some])
                ).mean(1)
        return out

    def _pieces(self, word: str) -> list[int]:
        """Return the numbers of the longest known pieces of a word, between those of its begin and end."""
        found, rest, mark = ["[CLS]"], word, ""
        while rest:
            ends = range(len(rest), 0, -1)
            end = next((end for end in ends if mark + rest[:end] in self._number), 0)
            found.append(mark + rest[:end] if end else "[UNK]")
            rest, mark = rest[end:] if end else "", "##"
        return [self._number[piece] for piece in [*found, "[SEP]"]]

    def _encoded(self, pieces: NDArray[np.int64]) -> Array:
        weight = self._weights
        x = weight["embeddings.word_embeddings.weight"][pieces]
        x = x + weight["embeddings.position_embeddings.weight"][: pieces.shape[1]]
        x = self._normal(
            x + weight["embeddings.token_type_embeddings.weight"][0], "embeddings"
        )
        for layer in (f"encoder.layer.{number}" for number in range(LAYERS)):
            seen = self._linear(
                self._attention(x, layer), f"{layer}.attention.output.dense"
            )
            x = self._normal(x + seen, f"{layer}.attention.output")
            inner = _gelu(self._linear(x, f"{layer}.intermediate.dense"))
            x = self._normal(
                x + self._linear(inner, f"{layer}.output.dense"), f"{layer}.output"
            )
        return x

    def _attention(self, x: Array, layer: str) -> Array:
        count, length, _ = x.shape
        query, key, value = (
            self._linear(x, f"{layer}.attention.self.{name}")
            .reshape(count, length, HEADS, SIZE // HEADS)
            .transpose(0, 2, 1, 3)
            for name in ("query", "key", "value")
        )
        scores = np.exp(query @ key.transpose(0, 1, 3, 2) / np.sqrt(SIZE / HEADS))
        shares = scores / scores.sum(-1, keepdims=True)
        return np.asarray(
            (shares @ value).transpose(0, 2, 1, 3).reshape(count, length, SIZE)
        )

    def _linear(self, x: Array, name: str) -> Array:
        return x @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]

    def _normal(self, x: Array, name: str) -> Array:
        x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-12)
        weight, bias = (
            self._weights[f"{name}.LayerNorm.{part}"] for part in ("weight", "bias")
        )
        return x * weight + bias


def _tensors(data: bytes) -> Iterator[tuple[str, Array]]:
    """Yield the name and the numbers of each tensor of floats in a file of safetensors."""
    start = 8 + int.from_bytes(data[:8], "little")
    header: dict[str, Any] = json.loads(data[8:start])
    for name, tensor in header.items():
        if tensor.get("dtype") == "F32":
            begin, end = tensor["data_offsets"]
            numbers = np.frombuffer(data[start + begin : start + end], np.float32)
            yield name.removeprefix("bert."), numbers.reshape(tensor["shape"])


def _gelu(x: Array) -> Array:
    return np.asarray(0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3))))


def _field_words() -> Iterator[str]:
    for table in ("glossary", "phrases", "synonyms"):
        yield from tokens_of_lines(
            (FIELD / f"{table}.txt").read_text("utf-8").splitlines()
        )


def tokens_of_lines(lines: Iterable[str]) -> Iterator[str]:
    """Yield the words of each line, which is cut alone."""
    return chain.from_iterable(map(tokens, lines))


def _idl_words(folders: Iterable[Path], counts: Counter[str]) -> Iterator[str]:
    """Yield the words of names and docs, and count for each stem the instructions that have it.

    Versions of a program count once.
    """
    seen: set[object] = set()
    for path in chain.from_iterable(
        sorted(folder.glob("*.json")) for folder in folders
    ):
        try:
            model = load(path).model
        except McpsolError:
            continue
        text = program_text(model)
        new = [
            ix for ix in text.instructions if (text.called[:1], ix.stems) not in seen
        ]
        seen.update((text.called[:1], ix.stems) for ix in new)
        for ix in new:
            counts.update({*ix.stems, *ix.meaning, *ix.docs, *text.about, ""})
        lines = chain.from_iterable((ix.name, *ix.docs) for ix in model.instructions)
        yield from tokens_of_lines([model.name, *lines])


def _is_word(word: str) -> bool:
    return word.isascii() and word.isalpha() and len(word) > 2 and word not in FILLERS


def _directions(vectors: Array) -> Array:
    """Return vectors of the length 1, without the directions that all of them share."""
    vectors = vectors - vectors.mean(0)
    shared = np.linalg.svd(vectors[::3], full_matrices=False)[2][:SHARED]
    vectors = vectors - (vectors @ shared.T) @ shared
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def _few_numbers(vectors: Array, weights: Array) -> NDArray[np.int64]:
    """Return each vector as NUMBERS digits, as long as its weight."""
    kept = np.linalg.svd(vectors, full_matrices=False)[2][:NUMBERS]
    vectors = vectors @ kept.T
    vectors *= (weights / np.linalg.norm(vectors, axis=1))[:, None]
    middle = (len(DIGITS) - 1) / 2
    step = np.quantile(np.abs(vectors), WITHIN) / middle
    return np.asarray(
        np.clip(np.round(vectors / step + middle), 0, len(DIGITS) - 1), np.int64
    )


def main(folder: str, *idls: str) -> None:
    """Write the table."""
    model, counts = Model(Path(folder)), Counter[str]()
    own = filter(_is_word, [*_field_words(), *_idl_words(map(Path, idls), counts)])
    english = filter(_is_word, model.vocabulary)
    words = list(dict.fromkeys([*own, *list(english)[:ENGLISH]]))
    vectors = _directions(model.vectors(words))
    by_stem: dict[str, list[int]] = {}
    for number, word in enumerate(words):
        by_stem.setdefault(stem(word), []).append(number)
    means = np.array([vectors[numbers].mean(0) for numbers in by_stem.values()])
    rarity = [np.log(1 + counts[""] / (1 + counts[one])) for one in by_stem]
    digits = _few_numbers(means, np.array(rarity, np.float32))
    lines = (
        f"{one} {''.join(DIGITS[d] for d in row)}\n"
        for one, row in zip(by_stem, digits, strict=True)
    )
    (FIELD / "vectors.txt").write_text(HEADER + "".join(sorted(lines)), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
