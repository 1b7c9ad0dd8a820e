"""BibTeX for exactly what a run used."""

from __future__ import annotations

from typing import assert_never

from discreet.config.sections import ClippedUpdateConfig, LocalConfig, SingleStepConfig, StableStepsConfig
from discreet.plan import Plan
from discreet.report.content import Citation
from discreet.version import __version__

_DP = Citation(
    "Differential privacy",
    """@article{dwork2014,
  author = {Dwork, Cynthia and Roth, Aaron},
  title = {The Algorithmic Foundations of Differential Privacy},
  journal = {Foundations and Trends in Theoretical Computer Science},
  volume = {9}, number = {3--4}, pages = {211--407}, year = {2014}
}""",
)
_TRADEOFF = Citation(
    "Trade-off curve",
    """@article{dong2022,
  author = {Dong, Jinshuo and Roth, Aaron and Su, Weijie J.},
  title = {Gaussian Differential Privacy},
  journal = {Journal of the Royal Statistical Society: Series B},
  volume = {84}, number = {1}, pages = {3--37}, year = {2022}
}""",
)
_PLD = Citation(
    "Privacy accounting",
    """@inproceedings{doroshenko2022,
  author = {Doroshenko, Vadym and Ghazi, Badih and Kamath, Pritish and Kumar, Ravi and Manurangsi, Pasin},
  title = {Connect the Dots: Tighter Discrete Approximations of Privacy Loss Distributions},
  booktitle = {Proceedings on Privacy Enhancing Technologies}, year = {2022}
}""",
)
_ROUNDING = Citation(
    "Integer noise and rounding",
    """@inproceedings{kairouz2021,
  author = {Kairouz, Peter and Liu, Ziyu and Steinke, Thomas},
  title = {The Distributed Discrete Gaussian Mechanism for Federated Learning with Secure Aggregation},
  booktitle = {International Conference on Machine Learning}, year = {2021}, eprint = {2102.06387}
}""",
)
_SKELLAM = Citation(
    "Skellam noise",
    """@inproceedings{agarwal2021,
  author = {Agarwal, Naman and Kairouz, Peter and Liu, Ziyu},
  title = {The Skellam Mechanism for Differentially Private Federated Learning},
  booktitle = {Advances in Neural Information Processing Systems}, year = {2021}
}""",
)
_BONAWITZ = Citation(
    "Secure aggregation",
    """@inproceedings{bonawitz2017,
  author = {Bonawitz, Keith and Ivanov, Vladimir and Kreuter, Ben and Marcedone, Antonio and
            McMahan, H. Brendan and Patel, Sarvar and Ramage, Daniel and Segal, Aaron and Seth, Karn},
  title = {Practical Secure Aggregation for Privacy-Preserving Machine Learning},
  booktitle = {ACM Conference on Computer and Communications Security}, year = {2017}
}""",
)
_BELL = Citation(
    "Secure aggregation",
    """@inproceedings{bell2020,
  author = {Bell, James Henry and Bonawitz, Kallista A. and Gasc{\\'o}n, Adri{\\`a} and
            Lepoint, Tancr{\\`e}de and Raykova, Mariana},
  title = {Secure Single-Server Aggregation with (Poly)Logarithmic Overhead},
  booktitle = {ACM Conference on Computer and Communications Security}, year = {2020}
}""",
)
_STABLE = Citation(
    "Local training: stable-steps",
    """@inproceedings{wu2017,
  author = {Wu, Xi and Li, Fengan and Kumar, Arun and Chaudhuri, Kamalika and
            Jha, Somesh and Naughton, Jeffrey},
  title = {Bolt-on Differential Privacy for Scalable Stochastic Gradient Descent-based Analytics},
  booktitle = {ACM International Conference on Management of Data}, year = {2017}
}

@inproceedings{hardt2016,
  author = {Hardt, Moritz and Recht, Benjamin and Singer, Yoram},
  title = {Train Faster, Generalize Better: Stability of Stochastic Gradient Descent},
  booktitle = {International Conference on Machine Learning}, year = {2016}
}""",
)
_SINGLE = Citation(
    "Local training: single-step",
    """@inproceedings{abadi2016,
  author = {Abadi, Mart{\\'i}n and Chu, Andy and Goodfellow, Ian and McMahan, H. Brendan and
            Mironov, Ilya and Talwar, Kunal and Zhang, Li},
  title = {Deep Learning with Differential Privacy},
  booktitle = {ACM Conference on Computer and Communications Security}, year = {2016}
}""",
)
_CLIPPED = Citation(
    "Local training: clipped-update",
    """@inproceedings{mcmahan2018,
  author = {McMahan, H. Brendan and Ramage, Daniel and Talwar, Kunal and Zhang, Li},
  title = {Learning Differentially Private Recurrent Language Models},
  booktitle = {International Conference on Learning Representations}, year = {2018}
}""",
)
_SOFTWARE = Citation(
    "This software",
    f"""@software{{discreet,
  author = {{{{The discreet developers}}}},
  title = {{discreet: differentially private federated learning with secure aggregation}},
  version = {{{__version__}}}, year = {{2026}}, license = {{Apache-2.0}}
}}""",
)

_PROTOCOLS = {"bonawitz": (_BONAWITZ,), "bell": (_BELL,), "ideal": ()}


def citations(plan: Plan) -> tuple[Citation, ...]:
    """Returns the sources of the definition, the accounting, the noise, the protocol and the training."""
    noise = (_ROUNDING, _SKELLAM) if plan.config.privacy.mechanism == "skellam" else (_ROUNDING,)
    protocol = _PROTOCOLS[plan.config.aggregation.protocol]
    return (_SOFTWARE, _DP, _TRADEOFF, _PLD, *noise, *protocol, _local(plan.config.training.local))


def _local(local: LocalConfig) -> Citation:
    match local:
        case SingleStepConfig():
            return _SINGLE
        case ClippedUpdateConfig():
            return _CLIPPED
        case StableStepsConfig():
            return _STABLE
        case _:
            assert_never(local)
