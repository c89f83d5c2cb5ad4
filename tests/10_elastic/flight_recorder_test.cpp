// What a flight recorder must keep of its rank, and whom a diagnosis may accuse. First records that
// are written down by hand, then drawn runs, right ones and wrong ones, then ranks that run.
#include "exercises/10_elastic/flight_recorder.hpp"

#include "tests/10_elastic/flight_errors.hpp"
#include "tests/10_elastic/flight_notes.hpp"
#include "tests/10_elastic/flight_ranks.hpp"
#include "tests/10_elastic/flight_runs.hpp"
#include "tests/10_elastic/flight_tracks.hpp"

using namespace dist;
using namespace dist::harness;
using enum FlightFault;

TEST_CASE("diagnose: all ranks call the same, and nothing is wrong") {
    diagnoses({
        {"all have completed all", {"ABCDE", "ABCDE", "ABCDE"}},
        {"all wait in the same collective", {"ABC.", "ABC.", "ABC."}},
        {"some have left it already", {"ABC", "ABC.", "ABC"}},
        {"nobody has called any", {"-", "-"}},
        {"one rank alone", {"ABA."}},
        {"no record at all", {"", ""}},
        {"lines differ, calls do not", {"AB.", "lB.", "AB."}},
        {"nobody has started the last one", {"AB:", "A", "AB:"}},
    });
}

TEST_CASE("diagnose: a rank that left a collective out has skipped it, as its later calls say") {
    diagnoses({
        {"others have scheduled more",
         {"AB.C:D:", "AB.C:D:", "AC.D:", "AB.C:D:"},
         {{skipped, 2, 2, 20, 30}}},
        {"it went on as if nothing were wrong",
         {"ABCDE.", "ABCDE.", "ABCDE.", "ACDE"},
         {{skipped, 3, 2, 20, 30}}},
        {"one call behind it is known", {"AB.C:", "AB.C:", "AC."}, {{skipped, 2, 2, 20, 30}}},
        {"another size each, one for each layer",
         {"AnDA.", "nDA.", "AnDA."},
         {{skipped, 1, 1, 10, 11}}},
        {"all behind it are alike", {"BAAAA", "BAAAA", "AAAA"}, {{skipped, 2, 1, 20, 10}}},
        {"two ranks left it out",
         {"AB.C:", "AC.", "AB.C:", "AC.", "AB.C:"},
         {{skipped, 1, 2, 20, 30}, {skipped, 3, 2, 20, 30}}},
        {"it left out two", {"ABCAD.", "ABCAD.", "ACD"}, {{skipped, 2, 2, 20, 30}}},
    });
}

TEST_CASE("diagnose: a rank that called another collective in the place of one goes on in place") {
    diagnoses({
        {"nothing is known of what follows",
         {"AB.", "AB.", "AD."},
         {{other_collective, 2, 2, 20, 40}}},
        {"what follows is in place", {"ABC.", "ABC.", "AAC."}, {{other_collective, 2, 2, 20, 10}}},
        {"it called the next one twice",
         {"ABC.", "ABC.", "ACC."},
         {{other_collective, 2, 2, 20, 30}}},
        {"all behind it are alike, and as many",
         {"BAAA", "BAAA", "AAAA"},
         {{other_collective, 2, 1, 20, 10}}},
        {"it called one more than the others",
         {"BCD.", "BCD.", "EBCD"},
         {{other_collective, 2, 1, 20, 50}}},
        {"another size that the next one has",
         {"AnDA.", "AnDA.", "nnDA."},
         {{other_size, 2, 1, 10, 11}}},
    });
}

TEST_CASE("diagnose: another root, op, type or size, and which of them where several differ") {
    diagnoses({
        {"root", {"ABC.", "ABC.", "AbC."}, {{other_root, 2, 2, 20, 21}}},
        {"op", {"CA.", "CA.", "Cm."}, {{other_op, 2, 2, 10, 12}}},
        {"type", {"CA.", "CA.", "Ct."}, {{other_type, 2, 2, 10, 13}}},
        {"size", {"CA.", "CA.", "Cn."}, {{other_size, 2, 2, 10, 11}}},
        {"root and size", {"B.", "B.", "c."}, {{other_root, 2, 1, 20, 22}}},
        {"name, op and size", {"A.", "A.", "C."}, {{other_collective, 2, 1, 10, 30}}},
    });
}

TEST_CASE("diagnose: the majority is right, whoever comes first") {
    diagnoses({
        {"rank 0 called another one", {"AD.", "AB.", "AB."}, {{other_collective, 0, 2, 20, 40}}},
        {"rank 0 left one out", {"AC.D:", "AB.C:D:", "AB.C:D:"}, {{skipped, 0, 2, 20, 30}}},
        {"two ranks of five, each in its way",
         {"AD.", "AB.", "Ab.", "AB.", "AB."},
         {{other_collective, 0, 2, 20, 40}, {other_root, 2, 2, 20, 21}}},
        {"two ranks of five, in the same way",
         {"Ab.", "AB.", "AB.", "AB.", "Ab."},
         {{other_root, 0, 2, 20, 21}, {other_root, 4, 2, 20, 21}}},
    });
}

TEST_CASE("diagnose: without a majority nobody is accused, and each side is named") {
    diagnoses({
        {"one against one",
         {"AB.", "AC."},
         {{no_majority, 0, 2, 0, 20}, {no_majority, 1, 2, 0, 30}}},
        {"one against one, and the later calls of one are those of the other, shifted",
         {"ABCD.", "ACD."},
         {{no_majority, 0, 2, 0, 20}, {no_majority, 1, 2, 0, 30}}},
        {"two against two",
         {"n.", "A.", "n.", "A."},
         {{no_majority, 0, 1, 0, 11},
          {no_majority, 1, 1, 0, 10},
          {no_majority, 2, 1, 0, 11},
          {no_majority, 3, 1, 0, 10}}},
        {"two of four are no majority",
         {"A.", "B.", "A.", "C."},
         {{no_majority, 0, 1, 0, 10},
          {no_majority, 1, 1, 0, 20},
          {no_majority, 2, 1, 0, 10},
          {no_majority, 3, 1, 0, 30}}},
        {"the third has left no record",
         {"A.", "", "n."},
         {{no_majority, 0, 1, 0, 10}, {no_majority, 2, 1, 0, 11}}},
    });
}

TEST_CASE(
    "diagnose: only the first mismatch of a group counts, and it need not be in the newest entries"
) {
    diagnoses({
        {"the newest entries are alike",
         {"ABCDA.", "AbCDA.", "ABCDA."},
         {{other_root, 1, 2, 20, 21}}},
        {"later calls differ as well, in a row",
         {"ABCDEA.", "ABCDEA.", "ACDEA"},
         {{skipped, 2, 2, 20, 30}}},
        {"another rank differs later",
         {"ABCD.", "ABCD.", "AbCD.", "ABCA."},
         {{other_root, 2, 2, 20, 21}}},
        {"another rank is behind later",
         {"ABCD.", "ABCD.", "AbCD.", "ABC"},
         {{other_root, 2, 2, 20, 21}}},
        {"another rank has not called it",
         {"AB.", "AB.", "Ab.", "A"},
         {{other_root, 2, 2, 20, 21}}},
    });
}

TEST_CASE("diagnose: who has not started what others have is behind, with what it does instead") {
    diagnoses({
        {"it computes", {"ABC.", "AB", "ABC."}, {{behind, 1, 3, 30, 20}}},
        {"it has called it, and not started it",
         {"ABC.", "ABC:", "ABC."},
         {{behind, 1, 3, 30, 30}}},
        {"it has called nothing", {"A.", "-"}, {{behind, 1, 1, 10, 0}}},
        {"it waits for a message", {"AB.", "AB.", "AR."}, {{behind, 2, 2, 20, 80}}},
        {"it waits in an older operation than its newest",
         {"AB.", "AR.B:", "AB."},
         {{behind, 1, 2, 20, 80}}},
        {"rank 0 is behind", {"A", "AB.", "AB."}, {{behind, 0, 2, 20, 10}}},
        {"most are behind", {"A", "AB.", "A"}, {{behind, 0, 2, 20, 10}, {behind, 2, 2, 20, 10}}},
        {"who waits for it is not behind", {"ABC.", "AB.", "A"}, {{behind, 2, 2, 20, 10}}},
        {"a root that ran ahead", {"BBBB", "BB", "B."}, {{behind, 2, 2, 20, 20}}},
    });
}

TEST_CASE(
    "diagnose: a member without a record is named where somebody waits, and counts for nothing"
) {
    diagnoses({
        {"others wait", {"AB.", "", "AB."}, {{no_record, 1, 2, 20, 0}}},
        {"nobody waits", {"AB", "", "AB"}},
        {"one is behind besides",
         {"AB.", "", "A"},
         {{no_record, 1, 2, 20, 0}, {behind, 2, 2, 20, 10}}},
        {"one has left, and one has not come",
         {"AB", "", "A"},
         {{no_record, 1, 2, 20, 0}, {behind, 2, 2, 20, 10}}},
        {"of one that has left nothing is known", {"AB", "", "AB|"}},
        {"some have left already", {"AB.", "", "AB"}, {{no_record, 1, 2, 20, 0}}},
        {"one called another one", {"AB.", "", "Ab.", "AB."}, {{other_root, 2, 2, 20, 21}}},
        {"it is in a group of two",
         {"[a]A[b]C.", "[a]A", ""},
         {{no_record, 2, 1, 30, 0, "b"}},
         {{"a", {0, 1}}, {"b", {0, 2}}}},
    });
}

TEST_CASE("diagnose: what has fallen out of a ring was called") {
    diagnoses({
        {"rings of different lengths", {"ABCDA.", "ABC|DA.", "ABCD|A."}},
        {"a ring full of messages", {"ABC", "ABC|SSSS", "ABC"}},
        {"nothing of one is left", {"ABC.", "ABC|", "ABC."}},
        {"nobody knows what all have called", {"AB|C.", "ABC|", "|ABC."}},
        {"one is behind for all that", {"ABC.", "AB|SSR.", "ABC."}, {{behind, 1, 3, 30, 80}}},
        {"it left one out for all that",
         {"ABCDE.", "ABC|DE.", "A|CDE", "ABCDE."},
         {{skipped, 2, 2, 20, 30}}},
        {"another one in what is left",
         {"ABC.", "AB|D.", "ABC.", "|ABC."},
         {{other_collective, 1, 3, 30, 40}}},
    });
}

TEST_CASE("diagnose: collectives are paired by group and number, among the members") {
    const Members rows = {{"a", {0, 1}}, {"b", {2, 3}}, {"dp", {0, 1, 2, 3}}};
    diagnoses({
        {"others are no members", {"[a]A.", "[a]A.", "[b]CB", "[b]CB"}, {}, rows},
        {"groups in turns, as ranks like",
         {"[a]A[dp]B[a]C", "[a]AC[dp]B", "[dp]B[b]C", "[b]C[dp]B"},
         {},
         rows},
        {"messages count for nothing", {"SASB.", "RA.RRRB:", "ASSSB."}, {{behind, 1, 2, 20, 10}}},
        {"messages between collectives", {"ASB", "RAB", "ABRR"}},
        {"faults in two groups",
         {"[a]AB.", "[a]Ab.", "[a]AB.", "[b]D.", "[b]C.", "[b]C."},
         {{other_root, 1, 2, 20, 21, "a"}, {other_collective, 3, 1, 30, 40, "b"}},
         {{"a", {0, 1, 2}}, {"b", {3, 4, 5}}}},
        {"a fault in one group, and the other is well",
         {"[a]AB[dp]C.", "[a]AB[dp]C.", "[b]DD[dp]n.", "[b]DD[dp]C."},
         {{other_collective, 2, 1, 30, 11}},
         rows},
        {"two groups in different orders: each waits for the other",
         {"[a]A.", "[b]C."},
         {{behind, 0, 1, 30, 10, "b"}, {behind, 1, 1, 10, 30, "a"}},
         {{"a", {0, 1}}, {"b", {0, 1}}}},
        {"who waits in one group is missed in another",
         {"[dp]A.", "[a]C.", "-"},
         {{behind, 1, 1, 10, 30, "dp"}, {behind, 2, 1, 10, 0, "dp"}, {behind, 2, 1, 30, 0, "a"}},
         {{"dp", {0, 1, 2}}, {"a", {1, 2}}}},
    });
}

TEST_CASE("diagnose: a rank that has not made a group yet is behind in it") {
    on_ranks({1}, [](const Communicator&) {
        std::vector<FlightRecord> records =
            records_of({"", {"[a]A.", "[b]C", "[b]C"}, {}, {{"a", {0, 1}}, {"b", {1, 2}}}});
        records[1].groups.erase("a");
        INFO("rank 1 does not know group a" << text_of(records));
        const Comparison result = same_findings(diagnose(records), {{behind, 1, 1, 10, 30, "a"}});
        CHECK(result);
    });
}

TEST_CASE("diagnose: a rank that half of the others waited for, by their own clocks, is slow") {
    diagnoses({
        {"one computed for 5 s longer", {"AA~A", "AA~A", "AA_A"}, {{slow, 2, 3, 10, 10}}},
        {"one of two", {"_E", "~E"}, {{slow, 0, 1, 50, 50}}},
        {"two of four", {"A~C", "A_C", "A~C", "A_C"}, {{slow, 1, 2, 30, 30}, {slow, 3, 2, 30, 30}}},
        {"most were late", {"A~C", "A_C", "A_C"}},
        {"all computed for 5 s", {"A_C", "A_C", "A_C"}},
        {"all took 5 s", {"A~C", "A~C", "A~C"}},
        {"it had an operation of 0 ms behind it", {"A~C", "A_!CS"}, {{slow, 1, 2, 30, 30}}},
        {"operations of 0 ms on both sides", {"A~C", "A_!S!CS"}, {{slow, 1, 2, 30, 30}}},
        {"5 s are enough", {"A~C", "A_C"}, {{slow, 1, 2, 30, 30}}, {}, Ms(5000)},
        {"5 s are not enough", {"A~C", "A_C"}, {}, {}, Ms(5001)},
        {"the worst of three", {"A~A~~C~A", "A~A~~C~A", "A_A__C_A"}, {{slow, 2, 3, 30, 30}}},
        {"late once, then another one behind",
         {"A~AC.", "A_AC.", "A~A"},
         {{slow, 1, 2, 10, 10}, {behind, 2, 3, 30, 10}}},
        {"what comes behind a fault is not asked",
         {"ABA~C", "ABA~C", "AbA_C"},
         {{other_root, 2, 2, 20, 21}}},
    });
}

TEST_CASE("diagnose: who waited elsewhere, left early, or may have, is not slow") {
    diagnoses({
        {"a root that leaves before others come", {"_B", "_~B", "_~B"}},
        {"it waited in another group",
         {"[dp]~A", "[a]~C[dp]A", "[a]_C"},
         {{slow, 2, 1, 30, 30, "a"}},
         {{"dp", {0, 1}}, {"a", {1, 2}}}},
        {"it waited for a message", {"A~C", "A~C", "A~RC"}},
        {"it waits for a message all the time", {"A~C", "AR._C"}},
        {"the other one stood still inside", {"AC", "A~C"}},
        {"one is in it still", {"A_C.", "A~C", "A~C"}},
        {"what it did before has fallen out", {"A~C", "A~C", "A|_C"}},
    });
}

TEST_CASE(
    "diagnose: who waited in another operation, from before this one until after it, is not slow"
) {
    on_ranks({1}, [](const Communicator&) {
        std::vector<FlightRecord> records = records_of({"", {"A~C", "AR_C"}});
        records[1].entries[1].completed = records[1].entries[2].completed + Ms(1);
        INFO("rank 1 receives in another thread all the time" << text_of(records));
        const Comparison result = same_findings(diagnose(records), {});
        CHECK(result);
    });
}

TEST_CASE(
    "diagnose: of right runs, cut off at any moment, it says who is awaited and accuses nobody"
) {
    right_runs_are_right();
}

TEST_CASE("diagnose: in drawn runs in which a rank errs once it names this rank and collective") {
    faults_in_drawn_runs();
}

TEST_CASE("FlightRecorder notes what was called, where, and when") {
    notes_calls();
}

TEST_CASE("FlightRecorder numbers the collectives of each group, and messages apart from them") {
    numbers_apart();
}

TEST_CASE("FlightRecorder keeps the newest operations, and says how many fell out") {
    keeps_the_newest();
}

TEST_CASE("FlightRecorder: an operation that has fallen out may start and complete without a trace"
) {
    late_for_the_ring();
}

TEST_CASE("FlightRecorder: a dump is what was there at one moment, while threads go on") {
    dumps_between_threads();
}

TEST_CASE("FlightRecorder holds no more than its ring, however long the run") {
    holds_its_ring();
}

TEST_CASE("FlightRecorder: two of them know nothing of each other") {
    two_recorders();
}

TEST_CASE("FlightRecorder refuses no capacity, strange groups, and ids that it never gave") {
    refuses_strangers();
}

TEST_CASE("ranks that run: recorded, dumped by another thread while all wait, and diagnosed") {
    running_ranks();
}
