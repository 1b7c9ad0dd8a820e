r"""The scattering transform: fixed wavelet features of an image, computed from that image alone.

Bruna and Mallat (2013), "Invariant scattering convolution networks": averages of |x ∗ ψ| and of
||x ∗ ψ₁| ∗ ψ₂| over 2^J pixels for Morlet wavelets ψ at J scales and L angles. No learned parameter and no
statistic of a data set, so it is public preprocessing, record by record. Filters: bandwidth 0.8·2^j, central
frequency (3π/4)·2^-j, slant 4/L, low pass of bandwidth 0.8·2^(J-1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import torch

from discreet.arrays import Float32s
from discreet.errors import ConfigurationError
from discreet.models.threads import in_pieces

_PERIODS = range(-2, 3)
_ORIENTATION_OFFSET = 1  # the first wavelet points to (L/2 - 1)·π/L, the order that reference code uses


@dataclass(frozen=True, slots=True)
class Scattering:
    """The scattering transform of order two.

    Attributes:
        depth: J, the logarithm of the averaging scale; outputs are 2^J times coarser than the image.
        rotations: L, the number of angles, even.

    Example:
        >>> Scattering().output_shape((28, 28))
        (81, 7, 7)
    """

    depth: int = 2
    rotations: int = 8

    def __post_init__(self) -> None:
        if not (self.depth >= 1 and self.rotations >= 2 and self.rotations % 2 == 0):
            raise ConfigurationError(
                "Scattering needs depth >= 1 and an even number of rotations >= 2; "
                f"got {self.depth} and {self.rotations}."
            )

    def output_shape(self, image_shape: tuple[int, ...]) -> tuple[int, int, int]:
        """Returns (channels, rows, columns) for ``(rows, columns)`` or ``(colours, rows, columns)``."""
        rows, columns = image_shape[-2:]
        colours = math.prod(image_shape[:-2])
        scale = 2**self.depth
        pairs = self.depth * (self.depth - 1) // 2
        channels = 1 + self.depth * self.rotations + pairs * self.rotations**2
        return colours * channels, rows // scale, columns // scale

    def __call__(self, images: Float32s) -> Float32s:
        """Transforms images, shape ``(n, rows, columns)`` or ``(n, colours, rows, columns)``.

        Colours are transformed one by one and stacked: all channels of the first colour come first.

        Raises:
            ConfigurationError: if a side is not a multiple of 2^depth, or there are no two image dimensions.
        """
        if images.ndim not in {3, 4}:
            raise ConfigurationError(f"Scattering needs images; got records of shape {images.shape[1:]}.")
        rows, columns = images.shape[-2:]
        if not (rows % 2**self.depth == 0 and columns % 2**self.depth == 0):
            raise ConfigurationError(
                f"Image sides must be multiples of {2**self.depth} for depth {self.depth}; "
                f"got {rows} x {columns}. Pad the images or lower the depth."
            )
        shape = self.output_shape(images.shape[1:])

        def channels(piece: torch.Tensor) -> torch.Tensor:
            return self._transform(piece.reshape(-1, rows, columns)).reshape(len(piece), *shape)

        return in_pieces(images, channels)

    def _transform(self, images: torch.Tensor) -> torch.Tensor:
        """All channels of single-colour images, shape ``(n, channels, rows / 2^J, columns / 2^J)``."""
        scale = 2**self.depth
        margins = [(side // scale + 2) * scale - side for side in images.shape[-2:]]
        (top, left), (bottom, right) = [m // 2 for m in margins], [m - m // 2 for m in margins]
        padded = torch.nn.functional.pad(images[:, None], (left, right, top, bottom), mode="reflect")[:, 0]
        bank = _filter_bank(*padded.shape[-2:], self.depth, self.rotations)
        spectrum = torch.fft.fft2(padded)
        first_order, second_order = [self._average(spectrum, bank, 0)], []
        for scale_1 in range(self.depth):
            for psi_1 in bank.wavelets[scale_1]:
                envelope = _envelope(spectrum * psi_1, scale_1)
                first_order.append(self._average(envelope, bank, scale_1))
                for scale_2 in range(scale_1 + 1, self.depth):
                    for psi_2 in bank.wavelets[scale_2]:
                        inner = _envelope(envelope * _low_frequencies(psi_2, scale_1), scale_2 - scale_1)
                        second_order.append(self._average(inner, bank, scale_2))
        return torch.stack(first_order + second_order, dim=1)

    def _average(self, spectrum: torch.Tensor, bank: _FilterBank, scale: int) -> torch.Tensor:
        """Low-passes a signal already subsampled by 2^scale, subsamples to 2^J, cuts the margin off."""
        smooth = spectrum * _low_frequencies(bank.low_pass, scale)
        signal: torch.Tensor = torch.fft.ifft2(_subsampled(smooth, self.depth - scale))
        return signal.real[:, 1:-1, 1:-1]


@dataclass(frozen=True, slots=True)
class _FilterBank:
    """Real Fourier transforms of the filters, at full resolution."""

    low_pass: torch.Tensor
    wavelets: tuple[tuple[torch.Tensor, ...], ...]


@lru_cache(maxsize=8)
def _filter_bank(rows: int, columns: int, depth: int, rotations: int) -> _FilterBank:
    def wavelet(scale: int, index: int) -> torch.Tensor:
        angle = (rotations // 2 - _ORIENTATION_OFFSET - index) * math.pi / rotations
        shape, bandwidth, slant = (rows, columns), 0.8 * 2**scale, 4.0 / rotations
        wave = _gabor(shape, bandwidth, angle, 0.75 * math.pi / 2**scale, slant)
        envelope = _gabor(shape, bandwidth, angle, 0.0, slant)
        return _spectrum(wave - (wave.sum() / envelope.sum()) * envelope)

    return _FilterBank(
        low_pass=_spectrum(_gabor((rows, columns), 0.8 * 2 ** (depth - 1), 0.0, 0.0, 1.0)),
        wavelets=tuple(tuple(wavelet(scale, index) for index in range(rotations)) for scale in range(depth)),
    )


def _gabor(
    shape: tuple[int, int], bandwidth: float, angle: float, frequency: float, slant: float
) -> npt.NDArray[np.complex128]:
    """A Gaussian envelope, elongated across ``angle``, times a wave along it, wrapped around the borders."""
    rows, columns = shape
    total = np.zeros(shape, dtype=np.complex128)
    for row_shift in _PERIODS:
        for column_shift in _PERIODS:
            y, x = np.mgrid[:rows, :columns].astype(np.float64)
            y += row_shift * rows
            x += column_shift * columns
            along = y * math.cos(angle) + x * math.sin(angle)
            across = -y * math.sin(angle) + x * math.cos(angle)
            decay = -(along**2 + (slant * across) ** 2) / (2.0 * bandwidth**2)
            total += np.exp(decay + 1j * frequency * along)
    return total * slant / (2.0 * math.pi * bandwidth**2)


def _spectrum(signal: npt.NDArray[np.complex128]) -> torch.Tensor:
    """The transform is real because the filters are Hermitian."""
    return torch.from_numpy(np.fft.fft2(signal).real.astype(np.float32))


def _low_frequencies(spectrum: torch.Tensor, scale: int) -> torch.Tensor:
    """Crops a filter to the frequencies that remain after subsampling by 2^scale."""
    for dim in (-2, -1):
        half = spectrum.shape[dim] // 2 ** (scale + 1)
        side = spectrum.shape[dim] // 2**scale
        head, tail = (
            spectrum.narrow(dim, 0, half),
            spectrum.narrow(dim, spectrum.shape[dim] - side + half, side - half),
        )
        spectrum = torch.cat([head, tail], dim=dim)
    return spectrum


def _subsampled(spectrum: torch.Tensor, scale: int) -> torch.Tensor:
    """Keeps every 2^scale-th sample of the signal: its spectrum is folded and averaged."""
    fold = 2**scale
    rows, columns = (side // fold for side in spectrum.shape[-2:])
    return spectrum.reshape(-1, fold, rows, fold, columns).mean(dim=(1, 3))


def _envelope(spectrum: torch.Tensor, scale: int) -> torch.Tensor:
    """The spectrum of the modulus of a filtered signal, subsampled by 2^scale."""
    signal: torch.Tensor = torch.fft.ifft2(_subsampled(spectrum, scale))
    transformed: torch.Tensor = torch.fft.fft2(signal.abs())
    return transformed
