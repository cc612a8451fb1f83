"""A short form of campaign.py: only the short faults, under load, judged once."""

import unittest

import campaign

KINDS = ("leader-killed", "etcd-leader-killed", "both-leaders-killed", "standby-killed",
         "rolling-restart", "node-etcd-cut", "peers-cut", "clients-delayed")
REQUESTS_MIN = 500


class Short(unittest.TestCase):

    def test_no_promise_is_broken(self):
        lines = []
        one = campaign.Campaign(campaign.parsed(["--seconds-between", "1", "--seed", "1"]),
                                lines.append)
        findings = one.run(KINDS)
        one.report()
        print("\n".join(lines))
        self.assertEqual([str(finding) for finding in findings], [], one.logs)
        self.assertEqual(sum(map(len, one.gaps.values())), len(KINDS))
        self.assertGreater(one.requests, REQUESTS_MIN)
        # A probe that measured nothing would see no gap.
        self.assertGreater(one.gaps["both-leaders-killed"][0], 0.5)

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
        for words in (["--faults", "0"], ["--kinds", "earthquake"], ["--seconds-between", "0"]):
            with self.subTest(words), self.assertRaises(SystemExit):
                campaign.parsed(words)


if __name__ == "__main__":
    unittest.main()
