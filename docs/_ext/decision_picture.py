"""The decision diagram of the page *Which model?*: questions from top to bottom, with links to models.

The diagram is an inline SVG, so that its text follows the light or dark theme, is searchable, and links to
the reference. There are two versions: four columns for wide screens, and one column for narrow screens. The
style sheet shows one of them. The build fails if the diagram links to a name that is not public.
"""

from html import escape

from docutils import nodes
from docutils.parsers.rst import Directive

import bagwise

MARGIN, GAP, LINE = 6, 14, 20

# Questions that users answer without fitting a model, and the models to use if the answer is yes.
FIRST = [
    (
        "Only positive and unlabeled bags?",
        [("PUSetKernelClassifierCV", "bags"), ("LSDDClassifierCV", "instances")],
    ),
    (
        "Several classes, or several labels per bag?",
        [
            ("MIMLLogisticRegression", "one label per instance"),
            ("MultiLabelBagClassifier", "one model per label"),
            ("OneVsOneBagClassifier", "many classes"),
        ],
    ),
    ("Only bag predictions, and no preference?", [("BagEnsembleClassifier", "ensemble of families")]),
]
# The assumptions that `compare` distinguishes, and their models with the data that suit them.
KINDS = [
    (
        "one instance",
        [
            ("MILogisticRegressionCV", "roughly linear; selects features"),
            ("MISVC", "nonlinear; one witness per bag"),
            ("InstanceMISVC", "nonlinear; several positives"),
            ("MIGradientBoostingClassifier", "nonlinear; hundreds of bags"),
            ("MIMixture", "few bags, missing values"),
            ("EMDD", "positives resemble a prototype"),
            ("APRClassifier", "ranges of a few features"),
        ],
    ),
    (
        "a count",
        [
            ("SoftORLogisticRegression", "learns the required count"),
            ("Threshold", "rule for a known count"),
            ("CountTable", "any function of the count"),
        ],
    ),
    (
        "a share",
        [
            ("Mean", 'MILogisticRegression("mean")'),
            ("SoftMax", "high probabilities weigh more"),
            ("GeometricMean", "all instances must agree"),
        ],
    ),
    (
        "the whole bag",
        [
            ("SetKernelSVC", "up to a few thousand bags"),
            ("BagStatistics", "before any classifier"),
            ("ClusterEmbedding", "counts kinds of instances"),
            ("FisherEmbedding", "large bags, also from files"),
            ("MILESClassifier", "several kinds of instances"),
            ("CitationKNNClassifier", "few bags, many classes"),
        ],
    ),
]


class DecisionPicture(Directive):
    """Directive that inserts the diagram into a page."""

    def run(self):
        """Return both versions as raw HTML."""
        return [nodes.raw("", draw("wide") + draw("narrow"), format="html")]


def draw(shape: str) -> str:
    """Draw the questions and the assumptions, and return SVG. `shape` is "wide" or "narrow"."""
    is_wide = shape == "wide"
    picture = Picture(shape, 960 if is_wide else 380)
    for question, models in FIRST:
        picture.ask(question, models, is_wide=is_wide)
    picture.ask_what_makes_positive()
    if is_wide:
        picture.show_kinds_in_columns()
    else:
        picture.show_kinds_below_each_other()
    picture.end()
    return picture.svg()


class Picture:
    """An SVG drawing that is filled from top to bottom; `y` is the top of the next element."""

    def __init__(self, shape: str, width: float):
        self.shape, self.width, self.y, self.parts = shape, width, 4.0, []

    def svg(self) -> str:
        """Return the drawing as an SVG element."""
        tip = f'<marker id="tip-{self.shape}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" '
        tip += 'markerHeight="8" orient="auto"><path class="tip" d="M0 0 L8 4 L0 8 z"/></marker>'
        return (
            f'<svg class="decision {self.shape}" role="img" aria-label="Questions that lead to models" '
            f'viewBox="0 0 {self.width:g} {self.y + 4:g}" xmlns="http://www.w3.org/2000/svg">'
            f"<defs>{tip}</defs>{''.join(self.parts)}</svg>"
        )

    def ask(self, question: str, models: list[tuple[str, str]], *, is_wide: bool) -> None:
        """Draw a question, its models to the right or below ("yes"), and an arrow to the next ("no")."""
        height = 26 + LINE * len(models) if is_wide else 44
        width = 360 if is_wide else self.width - 2 * MARGIN
        middle = MARGIN + width / 2
        self._box(MARGIN, self.y, width, height, "question")
        self._text(middle, self.y + height / 2 + 5, question, "strong middle")
        if is_wide:
            at = MARGIN + width + 70
            self._arrow(MARGIN + width, self.y + height / 2, at, self.y + height / 2)
            self._text(at - 38, self.y + height / 2 - 6, "yes", "quiet middle")
            self._box(at, self.y, self.width - at - MARGIN, height, "answer")
            for row, (name, when) in enumerate(models):
                self._model(at + 14, self.y + 28 + LINE * row, name, when)
        else:
            self.y += height
            self._arrow(middle + 110, self.y, middle + 110, self.y + 26)
            self._text(middle + 96, self.y + 17, "yes", "quiet end")
            self.y += 26
            height = 14 + 2 * LINE * len(models)  # names and notes do not fit next to each other
            self._box(MARGIN + 60, self.y, self.width - 2 * MARGIN - 60, height, "answer")
            for row, (name, when) in enumerate(models):
                at = self.y + 21 + 2 * LINE * row
                self._model(MARGIN + 70, at, name, "")
                self._text(MARGIN + 70, at + LINE - 4, when, "quiet")
        if not is_wide:
            self._arrow(MARGIN + 30, self.y - 26, MARGIN + 30, self.y + height + 26)
            self._text(MARGIN + 40, self.y + height + 16, "no", "quiet")
        else:
            self._arrow(middle, self.y + height, middle, self.y + height + 28)
            self._text(middle + 12, self.y + height + 18, "no", "quiet")
        self.y += height + (28 if is_wide else 26)

    def ask_what_makes_positive(self) -> None:
        """Draw the question that `compare` and `diagnose_rule` answer from the data."""
        self._box(MARGIN, self.y, self.width - 2 * MARGIN, 60, "question")
        self._text(self.width / 2, self.y + 25, "What makes a bag positive?", "strong middle")
        says = f"{_link('compare')} and {_link('diagnose_rule')} show what the data support"
        self.parts.append(f'<text class="middle" x="{self.width / 2:g}" y="{self.y + 46:g}">{says}</text>')
        self.y += 60

    def show_kinds_in_columns(self) -> None:
        """Draw one column per assumption, all with the height of the longest one."""
        width = (self.width - 2 * MARGIN - (len(KINDS) - 1) * GAP) / len(KINDS)
        most = max(len(models) for _, models in KINDS)
        for column, (kind, models) in enumerate(KINDS):
            x = MARGIN + column * (width + GAP)
            self._arrow(x + width / 2, self.y, x + width / 2, self.y + 28)
            self._box(x, self.y + 28, width, 34, "kind")
            self._text(x + width / 2, self.y + 50, kind, "strong middle")
            self._box(x, self.y + 62, width, 12 + most * 2 * LINE, "answer")
            for row, (name, when) in enumerate(models):
                at = self.y + 85 + 2 * LINE * row
                self._model(x + 12, at, name, "")
                self._text(x + 12, at + LINE - 4, when, "quiet")
        self.y += 74 + most * 2 * LINE
        self._arrow(self.width / 2, self.y + 4, self.width / 2, self.y + 28)
        self.y += 28

    def show_kinds_below_each_other(self) -> None:
        """Draw one block per assumption, from top to bottom."""
        for kind, models in KINDS:
            self.y += 10
            self._box(MARGIN, self.y, self.width - 2 * MARGIN, 32, "kind")
            self._text(self.width / 2, self.y + 21, kind, "strong middle")
            self.y += 32
            self._box(MARGIN, self.y, self.width - 2 * MARGIN, 12 + 2 * LINE * len(models), "answer")
            for name, when in models:
                self._model(MARGIN + 12, self.y + 22, name, "")
                self._text(MARGIN + 12, self.y + 38, when, "quiet")
                self.y += 2 * LINE
            self.y += 12
        self.y += 10

    def end(self) -> None:
        """Draw the advice for data that do not answer the question."""
        self._box(MARGIN, self.y, self.width - 2 * MARGIN, 60, "answer")
        self._text(self.width / 2, self.y + 25, "Not sure?", "strong middle")
        says = f"{_link('BagEnsembleClassifier')}, or an interpretable model"
        self.parts.append(f'<text class="middle" x="{self.width / 2:g}" y="{self.y + 46:g}">{says}</text>')
        self.y += 60

    def _model(self, x: float, y: float, name: str, when: str) -> None:
        note = f' <tspan class="quiet">{escape(when)}</tspan>' if when else ""
        self.parts.append(f'<text x="{x:g}" y="{y:g}">{_link(name)}{note}</text>')

    def _box(self, x: float, y: float, width: float, height: float, kind: str) -> None:
        size = f'width="{width:g}" height="{height:g}"'
        self.parts.append(f'<rect class="{kind}" x="{x:g}" y="{y:g}" {size} rx="6"/>')

    def _text(self, x: float, y: float, text: str, kind: str) -> None:
        self.parts.append(f'<text class="{kind}" x="{x:g}" y="{y:g}">{escape(text)}</text>')

    def _arrow(self, x1: float, y1: float, x2: float, y2: float) -> None:
        ends = f'x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}"'
        self.parts.append(f'<line {ends} marker-end="url(#tip-{self.shape})"/>')


def _link(name: str) -> str:
    if name not in bagwise.__all__:
        raise ValueError(f"docs/_ext/decision_picture.py links to {name}, which is not public in bagwise.")
    return f'<a href="reference/bagwise.{name}.html">{name}</a>'


def setup(app):
    """Register the directive."""
    app.add_directive("decision-picture", DecisionPicture)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
