"""The compared models, and their cross-validation."""

from bagwise import load_digit_bags
from bagwise.evaluation.comparison.portfolio import REPRESENTATIVES, VARIANTS
from bagwise.evaluation.comparison.with_truth import cross_validate, make_folds


def test_the_table_of_models_fits_a_screen_and_the_first_one_finds_the_instances():
    assert len(REPRESENTATIVES) <= 8
    assert len({model.name for model in REPRESENTATIVES + VARIANTS}) == len(REPRESENTATIVES + VARIANTS)
    data = load_digit_bags(100, random_state=0)
    steps = []
    folds = make_folds(data.bags, data.y, 0)
    score = cross_validate(REPRESENTATIVES[0], data, folds, 0, steps.append)
    assert len(steps) == len(folds) + 1
    assert score.bag_auc > 0.9 and score.instance_auc > 0.9 and score.warnings == ()
    assert cross_validate(REPRESENTATIVES[-1], data, folds, 0, steps.append).instance_auc is None
