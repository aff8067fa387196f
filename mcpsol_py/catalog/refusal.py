"""Whether the best instruction fits a question at all, or is only the least bad.

A question about the weather, cooking or another chain shares words with some instruction too. A logistic function of
a few signs tells the two apart. Its weights were fitted to questions that programs answer and to others that none
does; none of the signs refers to a word of those questions.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

__all__ = ["Signs", "fits"]

#: The constant, and the weight of each sign. The sum is above 0 if a question is likelier answered than not;
#: the constant is a little higher than fitted, since a refused question is worse than a useless answer.
_CONSTANT = -3.4
_WEIGHTS = {
    "explained": 7.1,
    "near": 2.0,
    "names_program": 3.0,
    "unknown": -2.8,
    "strange_names": -4.3,
    "asks_facts": -4.2,
}


@dataclass(frozen=True, slots=True)
class Signs:
    """What tells whether the best instruction fits a question: each from 0 to 1, and `names_program` to 1.5.

    `explained`: what the instruction explains of the question. `near`: how near it is in meaning. `names_program`: how
    surely the question names a program. `unknown`: words that no program has. `strange_names`: those of them that are
    written as names, as of another chain. `asks_facts`: whether it asks who or why, which no instruction answers.
    """

    explained: float
    near: float
    names_program: float
    unknown: float
    strange_names: float
    asks_facts: float


def fits(signs: Signs) -> bool:
    """Return whether an instruction with these signs answers its question."""
    total: float = sum(_WEIGHTS[sign] * value for sign, value in asdict(signs).items())
    return _CONSTANT + total > 0
