"""A linear model as a plain scikit-learn pipeline, which loads without this package."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from discreet.arrays import Floats
from discreet.data.bins import Bins
from discreet.data.columns import Days, Numeric
from discreet.data.labels import Outcome
from discreet.data.projection import Projection
from discreet.data.standard import FARTHEST, Ramp, Standard
from discreet.errors import ConfigurationError
from discreet.models import OrdinalHead
from discreet.released.model import Model
from discreet.released.programs import metadata
from discreet.released.scorer import Numbers, Texts, code_of, text_columns


def sklearn_file(model: Model) -> bytes:
    """Returns a joblib file of `sklearn_pipeline`; as every pickle, it is code to whoever loads it.

    Raises:
        ConfigurationError: see `sklearn_pipeline`.
    """
    pipeline = sklearn_pipeline(model)
    import joblib  # of scikit-learn

    written = io.BytesIO()
    joblib.dump(pipeline, written)
    return written.getvalue()


def sklearn_pipeline(model: Model) -> Any:
    """Returns a fitted `sklearn.pipeline.Pipeline` with the model's probabilities, or numbers.

    It takes the raw columns that its attribute ``feature_names_in_`` names: of a frame by name, in any order
    and beside any others, and a frame that lacks one is refused; of an array of objects by place, in that
    order, which is that of the plan's ranges and categories. A cell that is missing is NaN, None or an
    empty text, in every column, and is scored as a blank cell of a file is. A date is the number that
    `datetime.date.toordinal` gives, and texts must be spelled as in the plan. What the weights come from is
    in ``discreet_``, as JSON, and what is known against its probabilities, if anything is, in
    ``probabilities_``.

    Raises:
        ConfigurationError: if scikit-learn is not installed, the model is no linear model of a table, or a
            column cannot be expressed.
    """
    try:
        from sklearn.pipeline import Pipeline
        from sklearn.preprocessing import Normalizer, PolynomialFeatures
    except ModuleNotFoundError:
        raise ConfigurationError(
            "this export needs the package scikit-learn; it is not installed. "
            "Run: pip install 'discreet[sklearn]'"
        ) from None
    if model.plan.data.transform is not None:
        raise ConfigurationError(
            "a scikit-learn pipeline must be of a table's own columns; a feature map made features of them, "
            f"{model.plan.data.transform!r}. Export it with --onnx or --torch."
        )
    rules = model.require_rules()
    if not model.plan.facts.linear:
        raise ConfigurationError(
            f"a scikit-learn pipeline must be of a linear model; got {model.plan.model.name!r}. "
            "Export it with --onnx or --torch."
        )
    if model.labels:
        raise ConfigurationError(
            f"a scikit-learn pipeline must predict one label; this model has {len(model.labels)}. Export it "
            "with --onnx or --torch."
        )
    if isinstance(model.network, OrdinalHead):
        raise ConfigurationError(
            "a scikit-learn pipeline must be of a model that scikit-learn has; it has none for levels in an "
            "order. Export it with --onnx or --torch."
        )
    columns, rows = _columns(model)
    encoded = columns.fit_transform(rows)
    # Fitted to an array, so that arrays are read by place; with names, frames are read by name.
    columns.feature_names_in_ = np.array(rules.used, dtype=object)
    weights, projection = _weights(model), model.prepares
    # The constant, which a record ends with, comes first here.
    constant = PolynomialFeatures(degree=1).fit(encoded)
    norm = Normalizer().fit(constant.transform(encoded))
    steps = [("columns", columns), ("constant", constant), ("norm", norm)]
    if isinstance(projection, Projection):
        # To one norm, from it to directions, and to that norm again.
        steps += [("projection", _projected(model, projection)), ("norm again", Normalizer())]
        by_column = weights[:, :-1]
    else:
        by_column = _by_column(model, weights)
    matrix = rules.norm_bound * np.column_stack([weights[:, -1], by_column])
    linear = _classifier(model, matrix) if model.outcome is None else _regressor(model.outcome, matrix)
    linear.n_features_in_ = matrix.shape[1]
    made = Pipeline([*steps, ("model", linear)])
    made.columns_ = rules.used
    for name, text in metadata(model).items():
        setattr(made, f"{name}_", text)
    return made


def _classifier(model: Model, matrix: Floats) -> Any:
    from sklearn.linear_model import LogisticRegression

    linear = LogisticRegression()
    linear.coef_, linear.intercept_ = matrix, np.zeros(len(matrix))
    numbered = model.plan.data.classes is None
    linear.classes_ = np.arange(len(model.classes)) if numbered else np.asarray(model.classes)
    return linear


def _regressor(outcome: Outcome, matrix: Floats) -> Any:
    """Returns a linear regression in the label's unit."""
    from sklearn.linear_model import LinearRegression

    linear = LinearRegression()
    linear.coef_, linear.intercept_ = outcome.half * matrix[0], outcome.low + outcome.half
    return linear


def _weights(model: Model) -> Floats:
    (weight,) = model.network.parameters()
    return weight.detach().double().numpy()


def _by_column(model: Model, weights: Floats) -> Floats:
    """Returns the weights in the order in which the transformer of `_columns` gives features."""
    plain, marked, texts = list[Floats](), list[Floats](), list[Floats]()
    bins = list[Floats]()
    start = 0
    for column in model.require_rules().schema.columns:
        own = weights[:, start : start + len(column.names)]
        start += len(column.names)
        if isinstance(column, Bins):
            bins.append(own)
        elif not isinstance(column, Numeric | Days):
            (found,) = text_columns([column])
            texts.append(own @ found.features[_told(found)].T)
        else:
            (plain if len(column.names) == 1 else marked).append(own)
    return np.concatenate([*plain, *marked, *bins, *texts], axis=1)


def _told(texts: Texts) -> list[int]:
    """Returns the places of the texts that get an indicator; the others are as unknown ones.

    Raises:
        ConfigurationError: if a text is more than an indicator and its sign.
    """
    sizes = np.abs(texts.features).sum(axis=1)
    if sizes[-1] != 0 or not set(np.abs(texts.features).ravel().tolist()) <= {0.0, 1.0} or sizes.max() > 1:
        raise ConfigurationError(
            f"every text of column {texts.column!r} must be one indicator for scikit-learn; it is not. "
            "Export the model with --onnx or --torch."
        )
    return np.flatnonzero(sizes).tolist()


def _columns(model: Model) -> tuple[Any, Any]:
    """Returns the transformer of raw columns, and two public rows that hold every end of every range."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import MissingIndicator, SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

    def constant(value: float, missing: float = np.nan) -> Any:
        return SimpleImputer(
            missing_values=missing, strategy="constant", fill_value=value, keep_empty_features=True
        )

    def scaled() -> Any:
        return MinMaxScaler(feature_range=(-1, 1), clip=True)

    def number(ramp: Ramp | None) -> Any:
        return make_pipeline(_numbers(), scaled(), constant(0.0), *_ramp(ramp))

    columns = model.require_rules().schema.columns
    firsts = np.cumsum([0, *(len(column.names) for column in columns)]).tolist()
    standard = model.prepares if isinstance(model.prepares, Standard) else None
    ramps = [None if standard is None else standard.ramp(first) for first in firsts[:-1]]
    numbers = [(place, column) for place, column in enumerate(columns) if isinstance(column, Numeric | Days)]
    plain = [place for place, column in numbers if len(column.names) == 1]
    steps = [("numbers", number(None), plain)]
    if standard is not None:
        steps = [(f"number {place}", number(ramps[place]), [place]) for place in plain]
    for place, column in numbers:
        if len(column.names) > 1:
            middle, code = (column.low + column.high) / 2, code_of(column)
            absent = np.nan if code is None else code
            ramp = ramps[place]
            # What is marked is as its column's centre; an unmarked blank is in the middle of the range.
            center = middle if ramp is None else middle + ramp.center * (column.high - column.low) / 2
            blank = center if column.missing else middle
            as_center = [] if code is None else [constant(center, code)]
            value = make_pipeline(_numbers(), constant(blank), *as_center, scaled(), *_ramp(ramp))
            steps.append((f"value {place}", value, [place]))
            # A missing cell is marked as the code is, or not at all.
            first = code if column.missing and code is not None else middle
            before = [] if code is None else [constant(first)]
            told = MissingIndicator(missing_values=absent, features="all")
            steps.append((f"absent {place}", make_pipeline(_numbers(), *before, told), [place]))
    steps += [
        (f"bins {place}", _binned(column), [place])
        for place, column in enumerate(columns)
        if isinstance(column, Bins)
    ]
    texts = text_columns(columns)
    known = [np.array([text.texts[at] for at in _told(text)], dtype=object) for text in texts]
    encoder = OneHotEncoder(categories=known, handle_unknown="ignore", sparse_output=False)
    places = [place for place, column in enumerate(columns) if not isinstance(column, Numbers)]
    steps.append(("texts", make_pipeline(_cells(), encoder), places))
    ends = {column.column: (column.low, column.high) for column in columns if isinstance(column, Numbers)}
    firsts = {text.column: (text.texts[0],) * 2 for text in texts}
    rows = np.array([(ends | firsts)[column.column] for column in columns], dtype=object).T
    return ColumnTransformer(steps), rows


def _projected(model: Model, projection: Projection) -> Any:
    """Returns the transformer that centres and projects columns of norm 1, and leaves the constant."""
    from sklearn.decomposition import PCA

    kept = projection.directions
    if kept is None:
        kept = np.eye(len(projection.center))
    # By column, the constant's place is never read.
    rows = _by_column(model, np.column_stack([kept, np.zeros(len(kept))]))
    made = PCA(n_components=len(rows) + 1)
    made.components_ = np.zeros((len(rows) + 1, rows.shape[1] + 1))
    made.components_[0, 0], made.components_[1:, 1:] = 1.0, rows
    # Of all middles with these coordinates, the one of the least length.
    made.mean_ = np.append(0.0, np.linalg.lstsq(rows, projection.center, rcond=None)[0])
    made.n_features_in_, made.explained_variance_ = len(made.mean_), np.ones(len(made.components_))
    return made


def _ramp(ramp: Ramp | None) -> list[Any]:
    """Returns the transformer that standardises a number of the range [-1, 1], if it is standardised."""
    from sklearn.preprocessing import FunctionTransformer

    if ramp is None:
        return []
    ends = [ramp.center - FARTHEST * ramp.scale, ramp.center + FARTHEST * ramp.scale]
    return [FunctionTransformer(np.interp, kw_args={"xp": ends, "fp": [-FARTHEST, FARTHEST]})]


def _cells() -> Any:
    """Returns a transformer from cells to cells in which every missing one is an empty text, as in a file."""
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    def blank(missing: float | None) -> Any:
        return SimpleImputer(
            missing_values=missing, strategy="constant", fill_value="", keep_empty_features=True
        )

    # NaN first: what looks for None refuses it.
    as_objects = FunctionTransformer(np.asarray, kw_args={"dtype": object})
    return make_pipeline(as_objects, blank(np.nan), blank(None))


def _numbers() -> Any:
    """Returns a transformer from cells to numbers, NaN where one is missing."""
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    missing = SimpleImputer(
        missing_values="", strategy="constant", fill_value=np.nan, keep_empty_features=True
    )
    return make_pipeline(_cells(), missing, FunctionTransformer(np.asarray, kw_args={"dtype": np.float64}))


def _binned(column: Bins) -> Any:
    """Returns a transformer from numbers to the indicators of their bins."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

    def step(function: Any, **stated: Any) -> Any:
        return FunctionTransformer(function, kw_args=stated)

    # NaN and both infinities, which are no numbers, get the place behind the last bin.
    finite = step(np.nan_to_num, nan=np.inf, posinf=np.inf, neginf=np.inf)
    places = step(np.digitize, bins=np.array([*column.cuts, np.inf]))
    known = np.arange(len(column.names))
    indicators = OneHotEncoder(categories=[known], handle_unknown="ignore", sparse_output=False)
    return make_pipeline(_numbers(), finite, places, indicators)
