"""How ε and δ are written for people: bounds, so always rounded to the side on which they stay true."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

from discreet.errors import ConfigurationError

_DIGITS = 3
_DIGITS_OF_A_SHARE = range(3, 7)
_WHOLE = 100
_SMALL = Decimal("0.01")
_LARGE = Decimal(1_000_000)
_THOUSANDTH = Decimal("0.001")
_LEAST_DELTA = Decimal("1e-300")
_LEAST_PLAIN_DELTA = Decimal("1e-4")
_MANY_DIGITS = 40


def epsilon_text(epsilon: float, *, down: bool = False) -> str:
    """Writes ε with three decimals, or three digits where it is small; an infinite one is words.

    Guarantee:
        What is written reads back as a float that is at least ``epsilon``; at most, if ``down``.

    Args:
        epsilon: an upper bound on what was spent.
        down: for what may still be spent, a limit or a rest, which must not grow by being written.

    Raises:
        ConfigurationError: if ``epsilon`` is negative or NaN.

    Example:
        >>> epsilon_text(0.76501), epsilon_text(1.0), epsilon_text(0.00012345), epsilon_text(float("inf"))
        ('0.766', '1.000', '0.000124', 'no limit')
    """
    exact = _exact("epsilon", epsilon)
    if exact.is_infinite():
        return "no limit"
    if exact == 0:
        return "0"
    rounding = ROUND_FLOOR if down else ROUND_CEILING
    if exact < _SMALL or exact >= _LARGE:
        return _short(Context(prec=_DIGITS, rounding=rounding).plus(exact))
    context = Context(prec=_MANY_DIGITS, rounding=rounding)
    return str(exact.quantize(_THOUSANDTH, context=context))


def delta_text(delta: float, *, down: bool = False) -> str:
    """Writes δ with up to three digits and an exponent without padding; never as 0.

    A float holds nothing between 0 and about 5e-324, and δ may have underflowed on its way here, so even 0
    is written as less than 1e-300.

    Guarantee:
        What is written reads back as a float that is at least ``delta``; at most, if ``down``.

    Raises:
        ConfigurationError: if ``delta`` is negative or NaN.

    Example:
        >>> delta_text(1e-5), delta_text(0.0012341), delta_text(0.0)
        ('1e-5', '0.00124', '< 1e-300')
    """
    exact = _exact("delta", delta)
    if exact < _LEAST_DELTA:
        return "0" if down else "< 1e-300"
    rounded = Context(prec=_DIGITS, rounding=ROUND_FLOOR if down else ROUND_CEILING).plus(exact)
    return _short(rounded.normalize(), least_plain=_LEAST_PLAIN_DELTA)


def delta_is(delta: float) -> str:
    """Writes δ as an equation, or as the inequality that is known of a tiny one.

    Example:
        >>> delta_is(1e-5), delta_is(0.0)
        ('δ = 1e-5', 'δ < 1e-300')
    """
    written = delta_text(delta)
    return f"δ {written}" if written.startswith("<") else f"δ = {written}"


def pair_text(epsilon: float, delta: float, *, down: bool = False) -> str:
    """Writes ε and δ together, since neither says anything alone; both 0 is nothing.

    Example:
        >>> pair_text(0.5, 1e-5), pair_text(0.0, 0.0)
        ('ε 0.500, δ 1e-5', 'nothing')
    """
    if epsilon == 0.0 and delta == 0.0:
        return "nothing"
    return f"ε {epsilon_text(epsilon, down=down)}, δ {delta_text(delta, down=down)}"


def factor_at_most(bound: float) -> str:
    """Writes an upper bound on a ratio, rounded up in the third digit.

    Example:
        >>> factor_at_most(1.9811), factor_at_most(2.0)
        ('1.99', '2')
    """
    exact = _exact("a ratio", bound)
    return f"{Context(prec=_DIGITS, rounding=ROUND_CEILING).plus(exact).normalize():f}"


def percent_at_most(bound: float) -> str:
    """Writes an upper bound on a share, rounded up in the third digit, or later where that would be 100 %.

    Example:
        >>> percent_at_most(0.019811), percent_at_most(0.99966), percent_at_most(1.0)
        ('1.99 %', '99.97 %', '100 %')
    """
    exact = 100 * _exact("a share", bound)
    tries = [Context(prec=digits, rounding=ROUND_CEILING).plus(exact) for digits in _DIGITS_OF_A_SHARE]
    rounded = next((number for number in tries if number < _WHOLE), tries[0])
    return f"{rounded.normalize():f} %"


def _exact(name: str, value: float) -> Decimal:
    """Returns the shortest decimal that reads back as ``value``."""
    if not value >= 0.0:
        raise ConfigurationError(f"{name} must be >= 0 to be written; got {value}.")
    return Decimal(repr(float(value)))


def _short(rounded: Decimal, least_plain: Decimal = Decimal("1e-6")) -> str:
    """Writes a number of few digits plainly, or with an exponent where there would be many zeros."""
    if least_plain <= rounded < _LARGE:
        return f"{rounded:f}"
    mantissa, _, exponent = f"{rounded:e}".partition("e")
    return f"{mantissa}e{int(exponent)}"
