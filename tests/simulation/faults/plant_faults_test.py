#!/usr/bin/python3
"""Checks that plant_faults.py refuses faults that would silently change nothing."""

import unittest

import plant_faults


def fault(name, *edits):
    return {"name": name, "does": "harm",
            "edit": [{"file": "a.cc", "present": present, "faulty": faulty}
                     for present, faulty in edits]}


def plant(text, *faults):
    planter = plant_faults.Planter(list(faults))
    return planter.plant("a.cc", text, planter.edits_by_file()["a.cc"])


class Planting(unittest.TestCase):
    def test_replaces_each_text_by_its_fault(self):
        text = plant("return a && b;", fault("one", ("a", "(FAULTY || a)")),
                     fault("two", ("b", "(b || FAULT(one))")))
        active = "::fairlock::simulation::IsFaultActive(1 /* one */)"
        self.assertEqual(text, plant_faults.HEADER +
                         f"return ({active} || a) && (b || {active});")

    def test_refuses_a_text_that_does_not_occur_once(self):
        for text, count in (("return 0;", 0), ("a; a;", 2)):
            with self.subTest(text), self.assertRaisesRegex(plant_faults.BadTable,
                                                            f"occurs {count} times"):
                plant(text, fault("one", ("a", "FAULTY")))

    def test_refuses_texts_that_overlap(self):
        with self.assertRaisesRegex(plant_faults.BadTable, "two: in a.cc its text overlaps"):
            plant("abc", fault("one", ("ab", "FAULTY")), fault("two", ("bc", "FAULTY")))

    def test_refuses_a_fault_that_is_not_described(self):
        with self.assertRaisesRegex(plant_faults.BadTable, "FAULT\\(two\\) is not described"):
            plant("a", fault("one", ("a", "FAULT(two)")))

    def test_replaces_every_place_of_a_seam(self):
        seam = {"file": "a.cc", "present": "sleep", "simulated": "Sleep", "places": 2}
        planter = plant_faults.Planter([], [seam])
        self.assertEqual(planter.replace_seams("a.cc", "sleep(sleep)"),
                         plant_faults.SEAM_HEADER + "Sleep(Sleep)")
        self.assertEqual(planter.replace_seams("b.cc", "sleep(sleep)"), "sleep(sleep)")
        with self.assertRaisesRegex(plant_faults.BadTable, "occurs 1 times, not 2"):
            planter.replace_seams("a.cc", "sleep")

    def test_refuses_a_file_that_is_not_copied(self):
        planter = plant_faults.Planter([fault("one", ("a", "FAULTY"))])
        with self.assertRaisesRegex(plant_faults.BadTable, "a.cc is not one of the files"):
            planter.plant_all(None, ["b.cc"])


if __name__ == "__main__":
    unittest.main()
