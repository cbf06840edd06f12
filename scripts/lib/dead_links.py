"""Names the links of pages of documentation that lead to no file, and ends with 1 if there are any.

    dead_links.py FOLDER    every page below FOLDER, which lies beside what its pages link to
"""

import html.parser
import pathlib
import sys
import urllib.parse


class Links(html.parser.HTMLParser):
    """Gathers the targets of links."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attributes):
        if tag == "a":
            self.found.extend(value for name, value in attributes if name == "href" and value)


def main(folder):
    dead = set()
    for page in sorted(pathlib.Path(folder).rglob("*.html")):
        links = Links()
        links.feed(page.read_text(encoding="utf-8"))
        for link in links.found:
            target = urllib.parse.urlsplit(link)
            if target.scheme or not target.path:
                continue
            file = page.parent / urllib.parse.unquote(target.path)
            if not file.exists():
                dead.add(f"{page.relative_to(folder)}: {link}")
    for link in sorted(dead):
        print(link)
    return 1 if dead else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
