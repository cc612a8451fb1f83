"""Debian's Prometheus, which reads servers of a test and evaluates our rules."""

import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import urllib.parse
import urllib.request

from own_server import free_port

ROOT = pathlib.Path(__file__).parents[2]
RULES = ROOT / "deploy/prometheus/fairlock-alerts.yaml"
EVENTUALLY_SECONDS_MAX = 40


def promtool(*arguments, **options):
    return subprocess.run(["promtool", *map(str, arguments)], capture_output=True, check=False,
                          timeout=60, **options)


def values_of(page):
    """Returns the value of each sample on a page, by name with labels."""
    lines = [line for line in page.decode().splitlines() if not line.startswith("#")]
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines}


class Prometheus:
    """Scrapes the servers at these HTTP ports. Used in a with statement."""

    def __init__(self, *http_ports):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="fairlock-prometheus-"))
        config = (ROOT / "deploy/prometheus/prometheus.yaml").read_text()
        targets = ", ".join(f'"127.0.0.1:{port}"' for port in http_ports)
        config = config.replace('"127.0.0.1:3248"', targets)
        config = re.sub(r"(_interval): 15s", r"\1: 1s", config)
        (self.folder / "prometheus.yaml").write_text(config)
        shutil.copy(RULES, self.folder)
        self.port = free_port()
        self.process = None

    def __enter__(self):
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={self.folder}/prometheus.yaml",
             f"--storage.tsdb.path={self.folder}/data",
             f"--web.listen-address=127.0.0.1:{self.port}"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return self

    def __exit__(self, *failure):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def ask(self, path, **parameters):
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?" + urllib.parse.urlencode(parameters)
        with urllib.request.urlopen(url, timeout=10) as answer:
            return json.load(answer)["data"]

    def value_of(self, query):
        """The value of the only series that the query returns; None if there is none."""
        series = self.ask("query", query=query)["result"]
        assert len(series) <= 1, series
        return float(series[0]["value"][1]) if series else None

    def rules(self):
        return [rule for group in self.ask("rules")["groups"] for rule in group["rules"]]

    def alerts(self):
        """The names of the alerts that are pending or firing."""
        return {alert["labels"]["alertname"] for alert in self.ask("alerts")["alerts"]}


def eventually(ask):
    """Returns the first result that is true."""
    give_up = time.monotonic() + EVENTUALLY_SECONDS_MAX
    while time.monotonic() < give_up:
        try:
            if result := ask():
                return result
        except OSError:
            pass
        time.sleep(0.1)
    raise AssertionError("Prometheus did not come to it")
