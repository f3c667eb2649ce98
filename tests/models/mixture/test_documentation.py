import re
from pathlib import Path

DOCS = Path(__file__).parents[3] / "docs"


def test_the_page_on_families_runs_as_written(capsys):
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / "families.md").read_text(), flags=re.S)
    assert len(blocks) == 2
    scope = {"__name__": "families"}
    for block in blocks:
        exec(block, scope)
    rates = [float(x) for x in re.findall(r"\d+\.\d+", capsys.readouterr().out)]
    assert all(abs(rate - 6) < 1 for rate in rates[:3]), "the page shows rates near 6"
    assert all(abs(rate - 2) < 0.5 for rate in rates[3:6]), "the page shows rates near 2"
    assert all(abs(rate - 6) < 1.2 for rate in rates[-3:]), "the page still shows rates near 6"
