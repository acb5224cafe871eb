"""The example service that moved from cpp-httplib does the same after the move as before it: one test, both programs."""
import http.client
import os
import pathlib
import subprocess
import unittest

EXAMPLES = pathlib.Path(os.environ.get("OUTRIGGER_BIN", "build/dev/bin")).parent / "examples"
TOKEN = {"Authorization": "Bearer let-me-in"}
FORM = (b'--b\r\nContent-Disposition: form-data; name="note"\r\n\r\nnot a file\r\n'
        b'--b\r\nContent-Disposition: form-data; name="file"; filename="uploaded.txt"\r\n\r\nfrom a form\r\n--b--\r\n')


class CppHttplibService(unittest.TestCase):
    def request(self, port, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return response.status, response.headers, response.read().decode()
        finally:
            connection.close()

    def visit(self, program):
        """What a visitor sees: (status, body) of each step, and some headers."""
        process = subprocess.Popen([EXAMPLES / program, "0"], stdout=subprocess.PIPE, text=True)
        try:
            port = int(process.stdout.readline())
            long = "words " * 20_000
            steps = [("GET", "/documents/a", None, None), ("PUT", "/documents/a", "first", None), ("PUT", "/documents/a", "first", TOKEN),
                     ("PUT", "/documents/a", long, TOKEN), ("GET", "/documents/a", None, None), ("GET", "/documents/a", None, {"Range": "bytes=6-10"}),
                     ("POST", "/uploads", FORM, {**TOKEN, "Content-Type": "multipart/form-data; boundary=b"}), ("GET", "/documents?prefix=up", None, None),
                     ("GET", "/documents/uploaded.txt", None, None), ("DELETE", "/documents/a", None, TOKEN), ("DELETE", "/documents/a", None, TOKEN),
                     ("GET", "/documents", None, None), ("GET", "/nowhere", None, None)]
            seen = []
            for method, path, body, headers in steps:
                status, answered, text = self.request(port, method, path, body, headers)
                seen.append((method, path, status, text, answered["Location"], answered["WWW-Authenticate"], answered["X-Content-Type-Options"]))
            # What the engine itself refuses has its own words.
            self.assertEqual(self.request(port, "PUT", "/documents/big", "x" * 2_000_000, TOKEN)[0], 413)
            return seen
        finally:
            process.terminate()
            try:
                self.assertEqual(process.wait(20), 0, f"{program} ends well")
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                raise
            finally:
                process.stdout.close()

    def test_the_moved_service_answers_as_the_original(self):
        moved = self.visit("example_cpp_httplib_service")
        self.assertEqual([step[2] for step in moved], [404, 401, 201, 204, 200, 206, 303, 200, 200, 204, 404, 200, 404])
        self.assertEqual(moved[8][3], "from a form")
        for ours, theirs in zip(moved, self.visit("example_cpp_httplib_service_stock"), strict=True):
            with self.subTest(f"{ours[0]} {ours[1]}"):
                self.assertEqual(ours, theirs)


if __name__ == "__main__":
    unittest.main()
