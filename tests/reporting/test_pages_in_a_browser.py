"""The page in a real browser: what a reader does with it, and that it asks nobody for anything."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from report_cases import EVIL, learned_run, link_run, small_labels, small_network, write_run

import honlearn as hl
from honlearn.reporting.build import write_report

SIZES = {"desktop": (1440, 900), "phone": (390, 844)}
# Elements that a finger must hit; links within running text are exempt, as in WCAG 2.5.8.
TARGETS = "button, select, input, summary, nav a"


class Seen:
    """What a page did behind its reader's back."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.refused: list[str] = []
        self.errors: list[str] = []
        self.dialogs: list[str] = []


def opened(browser: Any, page: Path, size: str = "desktop", **options: Any) -> tuple[Any, Seen]:
    width, height = SIZES[size]
    tab = browser.new_page(viewport={"width": width, "height": height}, **options)
    seen = Seen()
    tab.on("request", lambda request: seen.requests.append(request.url))
    tab.on("requestfailed", lambda request: request.failure == "csp" and seen.refused.append(request.url))
    tab.on("console", lambda message: message.type == "error" and seen.errors.append(message.text))
    tab.on("pageerror", lambda error: seen.errors.append(str(error)))
    tab.on("dialog", lambda dialog: (seen.dialogs.append(dialog.message), dialog.dismiss()))
    tab.goto(page.as_uri())
    tab.wait_for_selector("html[data-drawn=true]", state="attached")
    return tab, seen


@pytest.fixture(scope="module")
def shared(browser: Any, page: Path) -> Iterator[Any]:
    """The page, opened once; at the end it must have made no error and no request but for itself."""
    made, seen = opened(browser, page)
    yield made
    made.close()
    assert seen.errors == []
    assert seen.dialogs == []
    assert [url for url in seen.requests if not url.startswith(("blob:", "data:"))] == [page.as_uri()]


@pytest.fixture
def tab(shared: Any) -> Any:
    """The shared page without the traces of the test before."""
    shared.click("#whole")
    shared.click("#p-reset")
    shared.fill("#node-search", "")
    return shared


def texts(tab: Any, selector: str) -> list[str]:
    return list(tab.locator(selector).all_inner_texts())


def find(tab: Any, name: str) -> None:
    tab.fill("#node-search", name)
    tab.press("#node-search", "Enter")


def saved(tab: Any, button: Any, folder: Path) -> list[str]:
    with tab.expect_download() as waiting:
        button.click()
    waiting.value.save_as(folder / "data.csv")
    return (folder / "data.csv").read_text().splitlines()


def test_search_shows_a_node_with_its_family_and_probabilities(tab: Any) -> None:
    find(tab, "hub one")
    assert tab.inner_text("#node h3") == "hub one"
    relatives = texts(tab, "#node .family button")
    assert len(relatives) == 9  # the base node and one for each home
    shares = [float(text.split()[-1]) for text in relatives]
    # Half of the steps leave the base node, an eighth of the other half each context.
    assert shares[0] == pytest.approx(0.5, abs=0.001)
    assert shares[1:] == pytest.approx([0.0625] * 8, abs=0.001)
    tab.locator("#node .family button").nth(1).click()
    assert "Divergence from the base 3.000 bits" in tab.inner_text("#changes")
    assert tab.locator("#changes svg rect").count() > 2
    assert "Leads to 8" in tab.inner_text("#node .neighbours")


def test_flows_show_the_state_nodes_inside_their_entity(tab: Any, tmp_path: Path) -> None:
    find(tab, "hub one")
    chart = tab.locator("#network-chart figure", has_text="Came from")
    assert chart.locator("rect.state").count() == 9
    rows = [line.split(",") for line in saved(tab, chart.locator(".tools button").nth(1), tmp_path)]
    assert rows[0] == ["came from", "state node", "goes to", "steps"]
    # Who came from A goes back to A, each of eight times.
    assert ["A", "hub one|A", "", "8"] in rows
    assert ["", "hub one|A", "A", "8"] in rows
    chart.locator("text.label.choice").first.click()
    assert tab.inner_text("#node h3") != "hub one"


def test_the_keyboard_alone_finds_a_node(tab: Any) -> None:
    tab.focus("#node-search")
    tab.keyboard.type("hub")
    assert tab.get_attribute("#node-search", "aria-expanded") == "true"
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("ArrowDown")
    chosen = tab.inner_text('#node-options [aria-selected="true"]').strip()
    tab.keyboard.press("Enter")
    assert tab.inner_text("#node h3") == chosen
    assert tab.get_attribute("#node-search", "aria-expanded") == "false"


def test_dependencies_sort_and_lead_to_their_nodes(tab: Any) -> None:
    def column() -> list[float]:
        return [float(text) for text in texts(tab, "#dependencies tbody tr td:nth-child(5)")]

    assert "q takes a network" in tab.inner_text("#dependencies .muted")
    head = tab.locator("#dependencies thead button", has_text="strength")
    head.click()
    assert column() == sorted(column(), reverse=True)
    head.click()
    assert column() == sorted(column())
    assert tab.locator("#dependencies th", has_text="strength").get_attribute("aria-sort") == "ascending"
    label = texts(tab, "#dependencies tbody th")[0]
    tab.locator("#dependencies tbody th button").first.click()
    assert tab.inner_text("#node h3") == label.split("|")[0]
    assert label in tab.inner_text('#node .family [aria-pressed="true"]')


def test_predictions_filter_by_class_wrong_and_unsure(tab: Any) -> None:
    def rows() -> list[list[str]]:
        return [row.split("\t") for row in texts(tab, "#p-table tbody tr")]

    assert len(rows()) == 10
    tab.check("#p-wrong")
    wrong = int(tab.locator("#p-tiles .tile", has_text="wrong of").locator(".value").inner_text())
    shown = rows() if wrong else []
    assert len(shown) == wrong
    assert all("wrong" in row[2] for row in shown)
    tab.click("#p-reset")
    tab.select_option("#p-truth", label="left")
    assert {row[1].strip() for row in rows()} == {"left"}
    tab.click("#p-reset")
    tab.fill("#p-sure", "0.7")
    assert all(float(row[3]) <= 0.7 for row in rows() if len(row) > 3)
    assert len(rows()) < 10


def test_a_prediction_shows_every_learner_and_its_relative(tab: Any) -> None:
    tab.fill("#p-search", "hub one")
    tab.locator("#p-table tbody th button").first.click()
    lines = texts(tab, "#p-node .votes:not(.reasons *) tbody tr")
    assert len(lines) == 4
    assert all("hub one" in line for line in lines)
    assert any("hub one|" in line for line in lines)
    tab.locator("#p-node .votes button").first.click()
    assert tab.inner_text("#node h3") == "hub one"


def test_reasons_stand_in_both_views_of_a_node(tab: Any, tmp_path: Path) -> None:
    find(tab, "A")
    lines = texts(tab, "#node .reasons tbody tr")
    assert lines[0].strip() == "memories"
    assert "+0.250" in lines[1]
    assert EVIL in lines[1]
    assert "−0.125" in next(line for line in lines if "hub one" in line)
    # A path has no value of its own; what it moves is the difference to the prediction.
    assert "+0.250" in next(line for line in lines if "A → B" in line)
    assert "without memory (base node alone) 0.40; without neighbours 0.30." in tab.inner_text(
        "#node .reasons"
    )
    tab.fill("#p-search", "A")
    tab.locator("#p-table tbody").get_by_role("button", name="A", exact=True).click()
    assert texts(tab, "#p-node .reasons tbody tr") == lines
    assert saved(tab, tab.locator("#node .reasons .tool"), tmp_path)[0].startswith("kind,reason,")


def test_a_cell_of_the_confusion_matrix_filters(tab: Any) -> None:
    tab.locator("#p-charts figure").first.locator("rect.choice").first.click()
    assert (tab.input_value("#p-truth"), tab.input_value("#p-said")) == ("0", "0")


def test_every_chart_is_drawn_and_has_its_data_as_table_and_file(tab: Any, tmp_path: Path) -> None:
    charts = tab.locator("figure.chart")
    assert charts.count() >= 10
    for number in range(charts.count()):
        chart = charts.nth(number)
        title = chart.locator("figcaption > *").first.inner_text()
        assert chart.locator(".plot svg").count() == 1, title
        chart.locator(".tools button").first.click()
        assert chart.locator(".data th").count() >= 2, title
        assert chart.locator(".data tbody tr").count() >= 1, title
        assert len(saved(tab, chart.locator(".tools button").nth(1), tmp_path)) >= 2, title
        chart.locator(".tools button").first.click()


def test_axes_fit_the_data_and_an_f1_axis_ends_at_one(tab: Any) -> None:
    ticks = texts_of_svg(tab, "#scores-chart .tick")
    values = [float(text) for text in ticks if text.replace(".", "").isdigit()]
    assert values
    assert max(values) <= 1
    dots = tab.evaluate(
        "() => { const svg = document.querySelector('#scores-chart svg').getBoundingClientRect();"
        "return [...document.querySelectorAll('#scores-chart circle')].map((c) => c.getBoundingClientRect())"
        ".every((c) => c.left >= svg.left && c.right <= svg.right); }"
    )
    assert dots


def texts_of_svg(tab: Any, selector: str) -> list[str]:
    return list(tab.locator(selector).all_text_contents())


def test_an_evil_name_is_text_everywhere(tab: Any, tmp_path: Path) -> None:
    find(tab, EVIL)
    assert tab.inner_text("#node h3") == EVIL
    tab.fill("#p-search", EVIL)
    assert texts(tab, "#p-table tbody th") == [EVIL]
    tab.locator("#p-table tbody th button").first.click()
    assert tab.inner_text("#p-node h3") == EVIL
    assert any("<scr" in text or "<i>right" in text for text in texts_of_svg(tab, "svg text"))
    assert tab.locator("body script").count() == 2
    assert tab.locator("main i:not(.share i), main b").count() == 0
    lines = saved(tab, tab.locator("#p-table .table-head .tool"), tmp_path)
    assert any(EVIL in line for line in lines)


def test_no_request_and_no_code_is_let_in_even_if_a_script_tries(browser: Any, page: Path) -> None:
    made, seen = opened(browser, page, color_scheme="dark")
    assert made.evaluate("document.documentElement.dataset.theme") == "dark"
    made.click("#theme")
    assert made.evaluate("document.documentElement.dataset.theme") == "light"
    outcome = made.evaluate("fetch('https://example.org/').then(() => 'sent', () => 'refused')")
    loaded = made.evaluate(
        """() => new Promise((done) => { const i = new Image(); i.onload = () => done('sent');
           i.onerror = () => done('refused'); i.src = 'https://example.org/x.png'; })"""
    )
    made.evaluate(
        "() => { const s = document.createElement('script'); s.text = 'x'; document.body.append(s); }"
    )
    made.close()
    assert (outcome, loaded) == ("refused", "refused")
    # A request that the policy refuses is never sent; some are not even made.
    assert set(seen.requests) - set(seen.refused) == {page.as_uri()}
    assert any("Content Security Policy" in error for error in seen.errors)


def serious(tab: Any) -> list[str]:
    """Return the serious and critical findings of axe-core."""
    axe = pytest.importorskip("axe_core_python.sync_playwright", reason="needs axe-core-python")
    return [
        f"{found['id']}: {found['nodes'][0]['html'][:120]} ({len(found['nodes'])} places)"
        for found in axe.Axe().run(tab)["violations"]
        if found["impact"] in ("serious", "critical")
    ]


@pytest.fixture(scope="module")
def map_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a folder of ``learn`` whose nodes have coordinates and whose classes have names."""
    folder = tmp_path_factory.mktemp("map")
    return write_report(learned_run(folder / "run"), folder / "report.html")


@pytest.mark.parametrize(("size", "scheme"), [("desktop", "light"), ("phone", "dark")])
def test_everybody_can_use_it_and_nothing_sticks_out(
    browser: Any, map_page: Path, shots: Path, size: str, scheme: str
) -> None:
    made, seen = opened(browser, map_page, size, color_scheme=scheme)
    assert made.title().startswith("run")
    assert serious(made) == []
    assert made.evaluate("document.documentElement.scrollWidth <= innerWidth")
    small = made.evaluate(
        """(targets) => [...document.querySelectorAll(targets)].filter((e) => {
          const b = e.getBoundingClientRect(), tick = e.type === 'checkbox' && e.closest('label');
          return b.width && !tick && (b.width < 23.9 || b.height < 23.9); })
          .map((e) => e.outerHTML.slice(0, 100))""",
        TARGETS,
    )
    assert small == []
    if size == "desktop":
        cut = "[...document.querySelectorAll('.scroll')].some((e) => e.scrollWidth > e.clientWidth + 1)"
        assert not made.evaluate(cut)
    made.evaluate("document.getElementById('about').scrollIntoView({ behavior: 'instant' })")
    made.wait_for_selector('nav a[href="#about"][aria-current]')
    inside = """() => { const a = document.querySelector('nav a[aria-current]').getBoundingClientRect(),
      n = document.querySelector('nav').getBoundingClientRect();
      return a.right > n.left && a.left < n.right; }"""
    assert made.evaluate(inside)
    made.screenshot(path=shots / f"{size}-{scheme}.png", full_page=True)
    made.close()
    assert (seen.errors, seen.dialogs) == ([], [])


def test_the_map_has_land_a_legend_that_stays_and_nodes_to_click(browser: Any, map_page: Path) -> None:
    made, seen = opened(browser, map_page)
    chart = made.locator("#network-chart figure").first
    assert all(len(chart.locator(f"path.{kind}").get_attribute("d")) > 100 for kind in ("land", "state"))
    legend = chart.locator(".legend").inner_text()
    assert legend.split("\n") == ["2 · two", "10 · ten", "no class"]
    chart.locator("circle.node").last.click()
    chosen = made.inner_text("#node h3")
    assert chart.locator("path.own").count() == 2
    assert chart.locator(".legend").inner_text() == legend
    chart.get_by_role("button", name="Zoom in").click()
    assert "scale(1.6" in chart.locator("svg > g").get_attribute("transform")
    assert chosen in made.evaluate(
        "JSON.parse(document.getElementById('data').textContent).study.network.names"
    )
    # The entities, too: that without a label comes first, and reasons are shown.
    assert texts(made, "#e-table tbody th")[0] == "nobody knows"
    assert "Predicted 10 · ten" in made.inner_text("#e-node")
    made.close()
    assert seen.errors == []


def test_it_prints_on_pages_that_hold_it(browser: Any, map_page: Path, tmp_path: Path) -> None:
    made, seen = opened(browser, map_page, color_scheme="dark")
    made.pdf(path=tmp_path / "report.pdf", format="A4")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")
    made.emulate_media(media="print")
    made.set_viewport_size({"width": 700, "height": 1000})
    assert made.evaluate("document.documentElement.scrollWidth <= innerWidth")
    wide = "[...document.querySelectorAll('table')].some((t) => t.getBoundingClientRect().right > innerWidth)"
    assert not made.evaluate(wide)
    made.close()
    assert seen.errors == []


def test_links_filter_and_lead_to_their_nodes(browser: Any, tmp_path: Path) -> None:
    page = write_report(link_run(tmp_path / "run"), tmp_path / "links.html")
    made, seen = opened(browser, page)
    assert texts(made, "#l-new tbody tr") == [f"A\t{EVIL}\t0.700\t0.50"]
    assert made.locator("#l-pairs tbody tr").count() == 6
    made.check("#l-wrong")
    # Of the linked pairs one is at 0.4, of the others one at 0.6.
    assert {text.split("\t")[2] for text in texts(made, "#l-pairs tbody tr")} == {"0.400", "0.600"}
    assert made.locator("#l-curve svg path").count() > 0
    made.locator("#l-new tbody td button").first.click()
    assert made.inner_text("#node h3") == EVIL
    made.close()
    assert (seen.errors, seen.dialogs) == ([], [])


def test_next_steps_by_position_and_order_and_the_sentence(
    browser: Any, next_page: Path, tmp_path: Path
) -> None:
    made, seen = opened(browser, next_page)
    assert made.inner_text("#sentence").startswith("Knowing one step back saves ")
    assert texts(made, "#scores-table tbody th")[0] == "back-off · order 1"
    assert made.locator("#scores-table tbody tr").count() == 7
    for number, (first, rows) in enumerate([("By position", 28), ("By order", 7)]):
        chart = made.locator("#n-charts figure.chart").nth(number)
        assert chart.locator("figcaption > *").first.inner_text() == first
        header, *lines = saved(made, chart.locator(".tools button").nth(1), tmp_path)
        assert (header.split(",")[2], len(lines)) == ("bits per step", rows)
        chart.locator("select").select_option("top1")
        assert "top-1 accuracy" in chart.locator("svg").text_content()
    assert texts(made, "#n-charts figure:has-text('By order') .legend li") == [
        "back-off",
        "network",
        "popular",
    ]
    memory = [text.split("\t") for text in texts(made, "#memory-table tbody tr")]
    assert [row[0] for row in memory] == ["1", "2", "3"]
    assert memory[0][2] == "–"
    assert float(memory[1][2].split()[0]) > 0.3
    assert serious(made) == []
    made.close()
    assert (seen.errors, seen.dialogs) == ([], [])


def test_a_run_with_records_alone_opens_and_says_what_is_missing(browser: Any, tmp_path: Path) -> None:
    network = small_network()
    run = write_run(tmp_path / "run", network, small_labels(network), keep=False)
    made, seen = opened(browser, write_report(run, tmp_path / "page.html"))
    assert "the network: no explorer" in made.inner_text("#missing")
    assert made.locator("#network, #predictions, #learning").count() == 0
    assert made.locator("#scores-table tbody tr").count() > 5
    made.close()
    assert seen.errors == []


def test_long_names_leave_room_for_the_columns_beside_them(browser: Any, tmp_path: Path) -> None:
    long = "https://shop.example/" + "x" * 600
    network = hl.grow([["A", long, "B"], ["B", long, "A"]] * 10, order=2, tau=1.0, min_support=1)
    run = write_run(tmp_path / "run", network, {"A": "1", "B": "2", long: "1"})
    page = write_report(run, tmp_path / "page.html")
    for size in SIZES:
        made, seen = opened(browser, page, size)
        name = made.locator("#p-table tbody th", has_text=long)
        width, room = name.bounding_box()["width"], made.locator("#p-table .scroll").bounding_box()["width"]
        assert width < 0.6 * room
        assert made.evaluate("document.documentElement.scrollWidth <= innerWidth")
        made.close()
        assert seen.errors == []


def test_other_data_of_the_folder_fit_a_phone(browser: Any, tmp_path: Path) -> None:
    network = small_network()
    write_run(tmp_path / "run", network, small_labels(network), keep=False)
    made, seen = opened(browser, write_report(link_run(tmp_path / "run"), tmp_path / "page.html"), "phone")
    other = made.locator(".card", has=made.locator("h3", has_text="Also in this folder"))
    assert other.locator("table").evaluate("(table) => table.scrollWidth > innerWidth")
    assert made.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert serious(made) == []
    made.close()
    assert seen.errors == []


def test_scores_that_print_alike_are_equally_good(browser: Any, tmp_path: Path) -> None:
    network = small_network()
    run = write_run(tmp_path / "run", network, small_labels(network), sharpness=60.0)
    tab, _ = opened(browser, write_report(run, tmp_path / "report.html"))
    row = tab.locator("#scores-table tr", has_text="micro F1").first
    assert row.locator("td").all_inner_texts() == ["1.000 ± 0.000"] * 2
    assert row.locator("td.best").count() == 2
    tab.close()
