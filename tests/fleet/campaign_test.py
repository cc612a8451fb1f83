"""A short form of campaign.py: only the short faults, under load, judged once."""

import copy
import re
import tempfile
import unittest

import campaign
import fleet_checker
import planted

KINDS = (("etcd-leader-killed", "both-leaders-killed", "standby-killed", "rolling-restart"),
         ("node-etcd-cut", "peers-cut", "clients-delayed", "hand-over", "standby-clock-back"))
COMMITS = 200
REQUESTS_MIN = 500


class Short(unittest.TestCase):

    def test_no_promise_is_broken(self):
        with tempfile.TemporaryDirectory() as folder:
            words = ["--seconds-between", "1", "--commits", str(COMMITS), "--etcd-data",
                     f"{folder}/data"]
            first, one = self.check_run(words, KINDS[0])
            second, _ = self.check_run(words, KINDS[1])
        self.assertIn("commits were made", first)
        self.assertNotIn("commits were made", second)
        self.check_planted(one.history)

    def check_run(self, words, kinds):
        """Returns what the campaign prints, and the campaign."""
        lines = []
        one = campaign.Campaign(campaign.parsed(words), lines.append)
        findings = one.run(kinds)
        one.report()
        text = "\n".join(lines)
        print(text)
        self.assertEqual([str(finding) for finding in findings], [], one.logs)
        self.assertEqual(sum(map(len, one.gaps.values())), len(kinds))
        self.assertGreater(one.requests, REQUESTS_MIN)
        self.assertGreater(int(re.search(r"revision (\d+)", text)[1]), COMMITS)
        # A probe that measured nothing would see no gap.
        for kind in ("both-leaders-killed", "standby-clock-back"):
            self.assertGreater(one.gaps.get(kind, [1])[0], 0.5)
        return text, one

    def check_planted(self, history):
        """What the clients were told would be judged otherwise if a promise were broken."""
        for plant in planted.ALL:
            spoilt = copy.deepcopy(history)
            rules = plant(spoilt)
            if rules is None:
                print(f"the history has no place for {plant.__name__}")
                continue
            with self.subTest(plant.__name__):
                self.assertTrue(rules & set(fleet_checker.summary(fleet_checker.judge(spoilt))))

    def test_a_fault_of_one_partition_is_not_seen_in_another(self):
        lines = []
        one = campaign.Campaign(campaign.parsed(["--partitions", "2", "--seconds-between", "1"]),
                                lines.append)
        findings = one.run(("leader-killed", "leader-stopped", "both-leaders-killed"))
        one.report()
        print("\n".join(lines))
        self.assertEqual([str(finding) for finding in findings], [], one.logs)
        self.assertGreater(one.requests, REQUESTS_MIN)
        self.assertGreater(one.gaps["leader-stopped"][0], 0.5)
        self.assertGreater(len(one.beside), REQUESTS_MIN / 10)
        # The gap itself must not be seen; times are noise on a machine that is shared.
        self.assertLess(max(one.beside), one.gaps["leader-stopped"][0])

    def test_the_ratio_of_p99_is_a_finding_only_if_it_exceeds_its_bound(self):
        for words, count in ([], 0), (["--p99-ratio-max", "4"], 0), (["--p99-ratio-max", "2"], 1):
            with self.subTest(words):
                one = campaign.Campaign(campaign.parsed(words), lambda text: None)
                one.quiet, one.beside = [0.001] * 100, [0.001] * 90 + [0.003] * 10
                one.report()
                self.assertEqual(len(one.findings), count)

    def test_bad_options_are_refused(self):
        for words in (["--faults", "0"], ["--kinds", "earthquake"], ["--seconds-between", "0"],
                      ["--commits", "-1"], ["--commits", "9", "--partitions", "2"],
                      ["--etcd-data", "folder"]):
            with self.subTest(words), self.assertRaises(SystemExit):
                campaign.parsed(words)


if __name__ == "__main__":
    unittest.main()
