from hypothesis import given
from hypothesis import strategies as st

from discreet.report.html import Html, escape, items, join, table, tag


@given(st.text())
def test_text_never_becomes_markup(text: str) -> None:
    for written in (escape(text), tag("p", text), tag("p", title=text), items([text]), join([text])):
        inside = (
            written.removeprefix("<p")
            .removesuffix("</p>")
            .removeprefix("<ul><li>")
            .removesuffix("</li></ul>")
        )
        assert "<" not in inside
        assert "&" not in inside.replace("&amp;", "").replace("&lt;", "").replace("&gt;", "").replace(
            "&quot;", ""
        ).replace("&#x27;", "")


def test_attributes_and_void_elements() -> None:
    assert tag("line", x1="0", class_="grid") == '<line x1="0" class="grid"/>'
    assert tag("p", Html("<b>x</b>"), "<", aria_label='"') == '<p aria-label="&quot;"><b>x</b>&lt;</p>'
    assert tag("meta", name="viewport") == '<meta name="viewport"/>'


def test_tables_have_headers_for_rows_and_columns() -> None:
    written = table("Title", ("a", "b"), [("x", "1")], numeric=(1,))
    assert '<th scope="col">a</th><th scope="col" class="number">b</th>' in written
    assert '<th scope="row">x</th><td class="number" data-label="b">1</td>' in written
    assert written.startswith("<h3>Title</h3>")
    assert 'role="region" tabindex="0" aria-label="Title"' in written
