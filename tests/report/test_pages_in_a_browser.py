"""The page in a real browser: what a reader does with it, and that it asks nobody for anything."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from report_cases import EVIL, link_run, small_labels, small_network, small_paths, write_run

import honlearn as hl
from honlearn.report.build import write_report

SIZES = {"desktop": (1440, 900), "phone": (390, 844)}


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
    tab.wait_for_function("document.documentElement.dataset.ready === 'true'")
    return tab, seen


@pytest.fixture
def tab(browser: Any, page: Path) -> Iterator[Any]:
    """The page; at the end it must have made no error and no request but for itself."""
    made, seen = opened(browser, page)
    yield made
    made.close()
    assert seen.errors == []
    assert seen.dialogs == []
    assert [url for url in seen.requests if not url.startswith(("blob:", "data:"))] == [page.as_uri()]


def texts(tab: Any, selector: str) -> list[str]:
    return list(tab.locator(selector).all_inner_texts())


def find(tab: Any, name: str) -> None:
    tab.fill("#node-search", name)
    tab.press("#node-search", "Enter")


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
    tab.wait_for_selector("#changes .bars path", state="attached")
    assert "Leads to 8" in tab.inner_text("#node .neighbours")


def test_a_click_in_the_drawing_chooses_the_node(tab: Any) -> None:
    tab.locator("#network-chart").scroll_into_view_if_needed()
    tab.wait_for_selector("#network-chart .plot .xy", state="attached")
    place = tab.evaluate(
        """() => {
          const plot = document.querySelector('#network-chart .plot'), layout = plot._fullLayout;
          const trace = plot.data.find((t) => t.mode === 'markers' && t.customdata);
          const box = plot.getBoundingClientRect();
          return { x: box.x + layout._size.l + layout.xaxis.d2p(trace.x[0]),
                   y: box.y + layout._size.t + layout.yaxis.d2p(trace.y[0]), node: trace.customdata[0] };
        }"""
    )
    wanted = tab.evaluate(
        "(i) => JSON.parse(document.getElementById('data').textContent).study.network.names[i]", place["node"]
    )
    tab.mouse.move(place["x"], place["y"])
    tab.wait_for_timeout(200)
    tab.mouse.click(place["x"], place["y"])
    tab.wait_for_function("(name) => document.querySelector('#node h3').innerText === name", arg=wanted)


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

    head = tab.locator("#dependencies thead button", has_text="strength")
    head.click()
    assert column() == sorted(column(), reverse=True)
    head.click()
    assert column() == sorted(column())
    assert tab.locator("#dependencies th", has_text="strength").get_attribute("aria-sort") == "ascending"
    tab.locator("#dependencies thead button", has_text="context").click()
    label = texts(tab, "#dependencies tbody th")[0]
    tab.locator("#dependencies tbody th button").first.click()
    assert tab.inner_text("#node h3") == label.split("|")[0]
    assert label in tab.inner_text('#node .family [aria-pressed="true"]')


def test_dependencies_show_the_evidence_for_them(browser: Any, tab: Any, tmp_path: Path) -> None:
    def shown(made: Any) -> tuple[list[str], list[dict[str, str]]]:
        titles = texts(made, "#dependencies thead th")
        rows = [row.split("\t") for row in texts(made, "#dependencies tbody tr")]
        return titles, [dict(zip(titles, (cell.strip() for cell in row), strict=True)) for row in rows]

    titles, rows = shown(tab)  # grown with tau: p and the Bayes factor are of the edges, q is not known
    assert "q" not in titles
    factors = [float(row["ln BF"]) for row in rows]
    assert factors == sorted(factors, reverse=True)
    assert "q takes a network" in tab.inner_text("#dependencies .muted")
    hon = hl.grow(small_paths(), order=2, alpha=0.05)
    run = write_run(tmp_path / "run", hon, small_labels(hon))
    made, seen = opened(browser, write_report(run, tmp_path / "page.html"))
    titles, rows = shown(made)
    assert "threshold" not in titles  # tau's, and no tau was given
    table = hon.dependencies(top=1).iloc[0]
    assert rows[0]["context"] == table["node"]
    assert float(rows[0]["q"]) == pytest.approx(table["q_value"], rel=0.05)
    assert float(rows[0]["ln BF"]) == pytest.approx(table["ln_bayes_factor"], abs=0.051)
    made.close()
    assert seen.errors == []


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
    lines = texts(tab, "#p-node .votes tbody tr")
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
    with tab.expect_download() as waiting:
        tab.locator("#node .reasons .tool").click()
    waiting.value.save_as(tmp_path / "reasons.csv")
    assert (tmp_path / "reasons.csv").read_text().splitlines()[0].startswith("kind,reason,")


def test_a_cell_of_the_confusion_matrix_filters(tab: Any) -> None:
    tab.locator("#p-charts").scroll_into_view_if_needed()
    tab.wait_for_selector("#p-charts .hm image, #p-charts .heatmaplayer image", state="attached")
    # The charts together are taller than the window.
    tab.locator("#p-charts .plot").first.scroll_into_view_if_needed()
    box = tab.locator("#p-charts .plot").first.locator(".nsewdrag").first.bounding_box()
    tab.mouse.move(box["x"] + 0.25 * box["width"], box["y"] + 0.25 * box["height"])
    tab.wait_for_timeout(200)
    tab.mouse.click(box["x"] + 0.25 * box["width"], box["y"] + 0.25 * box["height"])
    tab.wait_for_function("document.getElementById('p-truth').value === '0'")
    assert tab.input_value("#p-said") == "0"


def test_every_chart_has_its_data_as_table_and_file(tab: Any, tmp_path: Path) -> None:
    charts = tab.locator("figure.chart")
    assert charts.count() >= 8
    for number in range(charts.count()):
        chart = charts.nth(number)
        title = chart.locator("figcaption > *").first.inner_text()
        chart.locator(".tools button").first.click()
        columns = chart.locator(".data th").count()
        assert columns >= 2, title
        assert chart.locator(".data tbody tr").count() >= 1, title
        with tab.expect_download() as waiting:
            chart.locator(".tools button").nth(1).click()
        waiting.value.save_as(tmp_path / "data.csv")
        lines = (tmp_path / "data.csv").read_text().splitlines()
        assert len(lines) >= 2, title
        chart.locator(".tools button").first.click()


def test_an_evil_name_is_text_everywhere(tab: Any, tmp_path: Path) -> None:
    find(tab, EVIL)
    assert tab.inner_text("#node h3") == EVIL
    tab.fill("#p-search", EVIL)
    assert texts(tab, "#p-table tbody th") == [EVIL]
    tab.locator("#p-table tbody th button").first.click()
    assert tab.inner_text("#p-node h3") == EVIL
    find(tab, "hub two")
    for figure in ("#network-chart", "#changes", "#p-charts", "#learning-charts"):
        tab.locator(figure).scroll_into_view_if_needed()
        tab.wait_for_timeout(200)
    marks = "() => [...document.querySelectorAll('svg text')].map((t) => t.textContent)"
    assert any("<script>" in text or "<i>right" in text for text in tab.evaluate(marks))
    assert tab.locator("body script").count() == 3
    assert tab.locator("main i:not(.share i), main b").count() == 0
    with tab.expect_download() as waiting:
        tab.locator("#p-table .table-head .tool").click()
    waiting.value.save_as(tmp_path / "p.csv")
    assert EVIL in (tmp_path / "p.csv").read_text()


def test_colours_follow_the_system_and_the_reader(browser: Any, page: Path) -> None:
    made, seen = opened(browser, page, color_scheme="dark")
    assert made.evaluate("document.documentElement.dataset.theme") == "dark"
    made.click("#theme")
    assert made.evaluate("document.documentElement.dataset.theme") == "light"
    assert "light" in made.get_attribute("#theme", "aria-label")
    made.close()
    assert seen.errors == []


def test_controls_have_names_and_headings_have_an_order(tab: Any) -> None:
    unnamed = tab.evaluate(
        """() => [...document.querySelectorAll('button, input, select, a[href]')]
          .filter((e) => !e.closest('.modebar') && !(e.innerText || '').trim()
            && !e.getAttribute('aria-label') && !(e.labels && e.labels.length))
          .map((e) => e.outerHTML.slice(0, 120))"""
    )
    assert unnamed == []
    assert tab.locator("h1").count() == 1
    assert tab.locator("main").count() == 1
    assert tab.evaluate("document.documentElement.lang") == "en"
    assert tab.evaluate("[...document.querySelectorAll('.plot')].every((p) => p.getAttribute('aria-label'))")


def test_no_request_is_let_out_even_if_a_script_tries(browser: Any, page: Path) -> None:
    made, seen = opened(browser, page)
    outcome = made.evaluate("fetch('https://example.org/').then(() => 'sent', () => 'refused')")
    loaded = made.evaluate(
        """() => new Promise((done) => { const i = new Image(); i.onload = () => done('sent');
           i.onerror = () => done('refused'); i.src = 'https://example.org/x.png'; })"""
    )
    made.close()
    assert (outcome, loaded) == ("refused", "refused")
    # A request that the policy refuses is never sent; some are not even made.
    assert set(seen.requests) - set(seen.refused) == {page.as_uri()}
    assert any("Content Security Policy" in error for error in seen.errors)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", sorted(SIZES))
def test_nothing_sticks_out_and_screenshots_are_kept(
    browser: Any, page: Path, shots: Path, size: str, scheme: str
) -> None:
    made, seen = opened(browser, page, size, color_scheme=scheme)
    find(made, "hub one")
    for section in ("overview", "network", "predictions", "learning", "about"):
        made.evaluate("(id) => document.getElementById(id).scrollIntoView({ behavior: 'instant' })", section)
        made.wait_for_timeout(300)
        made.screenshot(path=shots / f"{size}-{scheme}-{section}.png")
    assert made.evaluate("document.documentElement.scrollWidth <= innerWidth")
    made.close()
    assert seen.errors == []


def test_it_prints(browser: Any, page: Path, tmp_path: Path) -> None:
    made, seen = opened(browser, page, color_scheme="dark")
    made.pdf(path=tmp_path / "report.pdf", format="A4")
    made.close()
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")
    assert seen.errors == []


def test_links_filter_and_lead_to_their_nodes(browser: Any, tmp_path: Path, shots: Path) -> None:
    page = write_report(link_run(tmp_path / "run"), tmp_path / "links.html")
    made, seen = opened(browser, page)
    assert texts(made, "#l-new tbody tr") == [f"A\t{EVIL}\t0.700\t0.50"]
    assert made.locator("#l-pairs tbody tr").count() == 6
    made.check("#l-wrong")
    # Of the linked pairs one is at 0.4, of the others one at 0.6.
    assert {text.split("\t")[2] for text in texts(made, "#l-pairs tbody tr")} == {"0.400", "0.600"}
    made.locator("#links").scroll_into_view_if_needed()
    made.wait_for_selector("#l-curve .scatterlayer path", state="attached")
    made.screenshot(path=shots / "desktop-light-links.png")
    made.locator("#l-new tbody td button").first.click()
    assert made.inner_text("#node h3") == EVIL
    made.close()
    assert (seen.errors, seen.dialogs) == ([], [])


def test_next_steps_by_position_and_order_and_the_sentence(
    browser: Any, next_page: Path, shots: Path
) -> None:
    for size in sorted(SIZES):
        made, seen = opened(browser, next_page, size)
        assert made.inner_text("#sentence").startswith("Knowing one step back saves ")
        assert texts(made, "#scores-table tbody th")[0] == "back-off · order 1"
        assert made.locator("#scores-table tbody tr").count() == 7
        made.evaluate("document.getElementById('next').scrollIntoView({ behavior: 'instant' })")
        made.wait_for_selector("#n-charts .scatterlayer path", state="attached")
        lines = (
            "() => [...document.querySelectorAll('#n-charts .plot')].map((p) => p.data.map((t) => t.name))"
        )
        made.wait_for_function(
            f"({lines})().length === 2 && document.querySelectorAll('#n-charts .main-svg').length >= 2"
        )
        assert made.evaluate(lines)[1] == ["back-off", "network", "popular"]
        assert made.evaluate("document.documentElement.scrollWidth <= innerWidth")
        made.screenshot(path=shots / f"{size}-light-next.png")
        made.close()
        assert (seen.errors, seen.dialogs) == ([], [])


def test_charts_of_next_steps_have_their_data_and_change_with_the_score(
    browser: Any, next_page: Path, tmp_path: Path
) -> None:
    made, seen = opened(browser, next_page)
    for number, (first, rows) in enumerate([("By position", 28), ("By order", 7)]):
        chart = made.locator("#n-charts figure.chart").nth(number)
        assert chart.locator("figcaption > *").first.inner_text() == first
        chart.locator(".tools button").first.click()
        assert chart.locator(".data tbody tr").count() == rows
        with made.expect_download() as waiting:
            chart.locator(".tools button").nth(1).click()
        waiting.value.save_as(tmp_path / "data.csv")
        header, *lines = (tmp_path / "data.csv").read_text().splitlines()
        assert (header.split(",")[2], len(lines)) == ("bits per step", rows)
        chart.locator(".plot").scroll_into_view_if_needed()
        chart.locator(".scatterlayer path").first.wait_for(state="attached")
        chart.locator("select").select_option("top1")
        title = chart.locator(".ytitle")
        title.wait_for(state="attached")
        assert title.text_content() == "top-1 accuracy"
    memory = [text.split("\t") for text in texts(made, "#n-memory tbody tr")]
    assert [row[0] for row in memory] == ["1", "2", "3"]
    assert memory[0][2] == "–"
    assert float(memory[1][2].split()[0]) > 0.3
    made.close()
    assert (seen.errors, seen.dialogs) == ([], [])


def test_a_run_with_records_alone_opens_and_says_what_is_missing(browser: Any, tmp_path: Path) -> None:
    network = small_network()
    run = write_run(tmp_path / "run", network, small_labels(network), keep=False)
    made, seen = opened(browser, write_report(run, tmp_path / "page.html"))
    assert "the network: no explorer" in made.inner_text("#missing")
    assert made.locator("#network, #predictions, #learning").count() == 0
    assert made.locator("#scores-table tbody tr").count() == 2
    made.close()
    assert seen.errors == []


def test_without_webgl_the_network_is_drawn_as_svg(browser: Any, page: Path) -> None:
    tab = browser.new_page()
    errors: list[str] = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.add_init_script(
        """const real = HTMLCanvasElement.prototype.getContext;
        HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
          return String(kind).includes('webgl') ? null : real.call(this, kind, ...rest);
        };"""
    )
    tab.goto(page.as_uri())
    tab.locator("#network-chart").scroll_into_view_if_needed()
    tab.wait_for_selector("#network-chart .scatterlayer .point", state="attached")
    assert "not supported" not in tab.inner_text("body")
    tab.close()
    assert errors == []
