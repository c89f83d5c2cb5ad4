"""Shows the built book to this machine alone. In place of _static/progress.json, what PROGRESS prints.

usage: serve.py SITE PORT PROGRESS...    a port of 0 is one that is free; Ctrl-C ends it
"""
import functools
import http.server
import subprocess
import sys

LOOPBACK = "127.0.0.1"


class Page(http.server.SimpleHTTPRequestHandler):
    progress = []

    def do_GET(self):
        if self.is_ours() and self.path.split("?")[0] == "/_static/progress.json":
            self.send_progress()
        elif self.is_ours():
            super().do_GET()

    def do_HEAD(self):
        if self.is_ours():
            super().do_HEAD()

    def is_ours(self):
        """A page of elsewhere whose name was made to lead here (DNS rebinding) learns nothing."""
        ours = self.headers.get("Host", "").rsplit(":", 1)[0] in (LOOPBACK, "localhost")
        if not ours:
            self.send_error(403, "for this machine only")
        return ours

    def send_progress(self):
        ended = subprocess.run(self.progress, stdout=subprocess.PIPE, check=False)
        if ended.returncode != 0:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(ended.stdout)))
        self.end_headers()
        self.wfile.write(ended.stdout)

    def end_headers(self):
        self.send_header("Cache-Control", "no-store")  # the book may be built anew meanwhile
        super().end_headers()

    def log_message(self, *args):
        pass


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        """A browser that has gone on to another page is no fault."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def main(site, port, progress):
    Page.progress = progress
    try:
        server = Server((LOOPBACK, port), functools.partial(Page, directory=site))
    except (OSError, OverflowError) as error:
        sys.exit(f"shardlings: port {port}: {getattr(error, 'strerror', None) or error}; choose another with --port")
    print(f"The book is at http://{LOOPBACK}:{server.server_port}/  (Ctrl-C ends it)", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
