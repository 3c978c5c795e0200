"""A small S3 server on loopback for tests: lists buckets and hands out objects, whole or in ranges.

It speaks the three requests by which Arrow's S3 client reads (HeadObject, GetObject, ListObjectsV2). A bucket
called ``secret`` refuses everything.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

Buckets = dict[str, dict[str, bytes]]


def _handler(buckets: Buckets) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self._answer(with_body=False)

        def do_GET(self) -> None:
            self._answer(with_body=True)

        def _answer(self, with_body: bool) -> None:
            parts = urlsplit(self.path)
            bucket, _, key = unquote(parts.path).strip("/").partition("/")
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            if bucket == "secret":
                return self._send(403, _error("AccessDenied"), with_body)
            if bucket not in buckets:
                return self._send(404, _error("NoSuchBucket"), with_body)
            if not key:
                return self._send(200, _listing(buckets[bucket], query), with_body)
            if key not in buckets[bucket]:
                return self._send(404, _error("NoSuchKey"), with_body)
            whole = buckets[bucket][key]
            first, last = 0, len(whole) - 1
            if "Range" in self.headers:
                start, _, stop = self.headers["Range"].removeprefix("bytes=").partition("-")
                first, last = int(start), min(int(stop or last), last)
            self._send(206 if "Range" in self.headers else 200, whole[first : last + 1], with_body)

        def _send(self, status: int, body: bytes, with_body: bool) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Last-Modified", "Wed, 01 Jan 2025 00:00:00 GMT")
            self.end_headers()
            if with_body:
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    return Handler


def _error(code: str) -> bytes:
    return f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{code}</Message></Error>".encode()


def _listing(objects: dict[str, bytes], query: dict[str, str]) -> bytes:
    prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
    rows, folders = [], set()
    for key, body in sorted(objects.items()):
        if not key.startswith(prefix):
            continue
        rest = key[len(prefix) :]
        if delimiter and delimiter in rest:
            folders.add(prefix + rest.partition(delimiter)[0] + delimiter)
        else:
            rows.append(f"<Contents><Key>{escape(key)}</Key><Size>{len(body)}</Size></Contents>")
    rows += [f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>" for name in sorted(folders)]
    return (
        "<?xml version='1.0'?><ListBucketResult xmlns='http://s3.amazonaws.com/doc/2006-03-01/'>"
        f"<IsTruncated>false</IsTruncated><KeyCount>{len(rows)}</KeyCount>{''.join(rows)}</ListBucketResult>"
    ).encode()


@contextmanager
def serving(buckets: Buckets) -> Iterator[str]:
    """Serve buckets on loopback for a block; yield the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(buckets))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
