"""Three hospitals, one private model, from Python: plan, train, check, predict.

The tables are made up here. pandas and polars frames work in their place.
"""

import numpy as np

import discreet


def made_up_patients(count: int, seed: int) -> dict[str, np.ndarray]:
    """Returns a table by columns; blood pressure and smoking raise the risk."""
    draw = np.random.default_rng(seed)
    age, pressure, smokes = (
        draw.uniform(30, 90, count),
        np.clip(draw.normal(140, 25, count), 60, 220),
        draw.random(count) < 0.3,
    )
    risk = 1 / (1 + np.exp(-((age - 60) / 12 + (pressure - 140) / 20 + smokes)))
    return {
        "age": age.round(),
        "pressure": pressure.round(),
        "smoking": np.where(smokes, "yes", "no"),
        "disease": (draw.random(count) < risk).astype(int),
    }


hospitals = discreet.Frames(
    {"north": made_up_patients(280, 1), "east": made_up_patients(210, 2), "south": made_up_patients(240, 3)},
    label="disease",
    # Public knowledge, never read from the tables.
    ranges={"age": (18, 100), "pressure": (60, 220)},
    categories={"smoking": ("yes", "no")},
)

plan = discreet.plan_training(
    hospitals.public(capacity=300), target=discreet.Target(epsilon=1.0, delta=1e-5), name="hospitals"
)
print(plan)

run = discreet.train(plan, hospitals, out="runs/program", progress=True)
print(run)
for finding in run.verify():
    print(f"{finding.subject}: {finding.basis.value}, {finding.detail}")
print("for the privacy officer:", run.report())

patients = {"age": [45, 82], "pressure": [118, 179], "smoking": ["no", "yes"]}
print("risk:", run.predict_proba(patients)[:, 1].round(2))
