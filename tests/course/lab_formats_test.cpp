// The formats of other benchmarks, read back as their documents say.
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "course/lab/formats.hpp"
#include "tests/course/lab_example.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist;
using namespace dist::lab;

namespace {

/// A row of nccl-tests: its README and doc/PERFORMANCE.md. Words between blanks; what stands after # is for people.
struct NcclRow {
    std::size_t size_bytes = 0;
    std::size_t count = 0;
    std::string type;
    std::string redop;
    int root = 0;
    std::vector<std::string> out_of_place;  // time, algbw, busbw, #wrong
    std::vector<std::string> in_place;
};

std::vector<NcclRow> read_nccl(const std::string& text) {
    std::vector<NcclRow> rows;
    for (const std::string& line : lines_of(text)) {
        if (line.empty() || line.starts_with('#')) {
            continue;
        }
        std::istringstream in(line);
        NcclRow row;
        in >> row.size_bytes >> row.count >> row.type >> row.redop >> row.root;
        for (auto* const half : {&row.out_of_place, &row.in_place}) {
            half->resize(4);
            for (std::string& word : *half) {
                in >> word;
            }
        }
        REQUIRE(in);
        std::string more;
        CHECK_FALSE(in >> more);
        rows.push_back(row);
    }
    return rows;
}

/// A row of the OSU Micro-Benchmarks' collectives with --full: its README.
struct OsuRow {
    std::size_t size_bytes = 0;
    double mean_us = 0;
    double min_us = 0;
    double max_us = 0;
    long iterations = 0;
};

std::vector<OsuRow> read_osu(const std::string& text) {
    std::vector<OsuRow> rows;
    for (const std::string& line : lines_of(text)) {
        if (line.empty() || line.starts_with('#')) {
            continue;
        }
        std::istringstream in(line);
        OsuRow row;
        in >> row.size_bytes >> row.mean_us >> row.min_us >> row.max_us >> row.iterations;
        REQUIRE(in);
        std::string more;
        CHECK_FALSE(in >> more);
        rows.push_back(row);
    }
    return rows;
}

/// The place of a word's end in a line.
std::size_t end_of(const std::string& line, const std::string& word, std::size_t from = 0) {
    return line.find(word, from) + word.size();
}

}  // namespace

TEST_CASE("nccl-tests' columns: a parser of theirs reads them, and words stand below their titles"
) {
    const std::string text = to_nccl_format({example()});
    INFO(text);
    const std::vector<NcclRow> rows = read_nccl(text);
    REQUIRE(rows.size() == 6);
    const NcclRow& ring = rows[3];  // after naive's two
    CHECK(ring.size_bytes == 1048576);
    CHECK(ring.count == 262144);
    CHECK(ring.type == "float");
    CHECK(ring.redop == "sum");
    CHECK(ring.root == -1);
    CHECK(ring.out_of_place == std::vector<std::string>(4, "N/A"));
    CHECK(std::stod(ring.in_place[0]) == Approx(1049.58));
    CHECK(std::stod(ring.in_place[1]) == Approx(1.0).epsilon(0.01));
    CHECK(std::stod(ring.in_place[2]) == Approx(1.5).epsilon(0.01));
    CHECK(ring.in_place[3] == "0");
    // a line that nccl-tests has printed, and ours of the same size: the columns end at the same places
    const std::string theirs =
        "  1073741824     268435456     float     sum      -1    10776   99.64  186.83      0    "
        "10781   99.60  186.75      0";
    for (const std::string& line : lines_of(text)) {
        if (line.find(" 1048576 ") != std::string::npos && !line.starts_with('#')) {
            CHECK(end_of(line, "1048576") == end_of(theirs, "1073741824"));
            CHECK(end_of(line, "262144") == end_of(theirs, "268435456"));
            CHECK(end_of(line, "float") == end_of(theirs, "float"));
            CHECK(end_of(line, "sum") == end_of(theirs, "sum"));
            CHECK(end_of(line, "-1") == end_of(theirs, "-1"));
            CHECK(line.size() == theirs.size());
        }
    }
    CHECK(text.find("# Out of bounds values : 0 OK\n") != std::string::npos);
    CHECK(text.find("# Avg bus bandwidth    : ") != std::string::npos);
    CHECK(text.find("# algbw = size / time") != std::string::npos);
    CHECK(text.find("# busbw = algbw * 1.5: ") != std::string::npos);
    Measured wrong = example();
    wrong.points[1].wrong = 3;
    CHECK(to_nccl_format({wrong}).find("# Out of bounds values : 3 FAILED\n") != std::string::npos);
    Measured broadcast = example();
    broadcast.collective = find_collective("broadcast");
    broadcast.algorithms = find_algorithms(broadcast.collective, {"naive", "ring", "mpi"});
    CHECK(read_nccl(to_nccl_format({broadcast}))[0].root == 0);
    CHECK(read_nccl(to_nccl_format({broadcast}))[0].redop == "none");
}

TEST_CASE("OSU's columns: a parser of theirs reads them") {
    Measured measured = example();
    measured.points[4].fastest_rank_s = 9e-4;
    measured.points[4].mean_over_ranks_s = 1e-3;
    const std::string text = to_osu_format({measured});
    INFO(text);
    CHECK(text.find("\n# OSU MPI Allreduce Latency Test v7") != std::string::npos);
    CHECK(text.find("\n# Datatype: MPI_FLOAT.\n# Size       Avg Latency(us)") != std::string::npos);
    const std::vector<OsuRow> rows = read_osu(text);
    REQUIRE(rows.size() == 6);
    CHECK(rows[3].size_bytes == 1048576);
    CHECK(rows[3].mean_us == Approx(1000));
    CHECK(rows[3].min_us == Approx(900));
    CHECK(rows[3].max_us == Approx(1049.58));
    CHECK(rows[3].iterations == 10);
    CHECK(lines_of(text)[5].find("1048576") == 0);
}

TEST_CASE("sizes that nobody asked for stand in no other benchmark's table") {
    Measured measured = example();
    measured.points[0].between = true;
    CHECK(read_nccl(to_nccl_format({measured})).size() == 5);
    CHECK(read_osu(to_osu_format({measured})).size() == 5);
}

TEST_CASE("every timed call has a line in the raw samples") {
    Measured measured = example();
    measured.raw = {
        {.size_bytes = 1024,
         .algorithms = {"naive", "ring"},
         .blocks = {
             {{{{1e-6, 2e-6, 3e-6, false}, {4e-6, 5e-6, 6e-6, true}},
               {{1e-6, 1e-6, 1e-6, false}, {1e-6, 1e-6, 1e-6, false}}},
              0.25}}}};
    const std::vector<std::string> lines = lines_of(to_raw({measured}));
    REQUIRE(lines.size() == 5);
    CHECK(lines[1] == "4,1024,naive,0,0.250,0,1.000,2.000,3.000,0");
    CHECK(lines[2] == "4,1024,ring,0,0.250,0,4.000,5.000,6.000,1");
    CHECK(lines[4].starts_with("4,1024,ring,0,0.250,1,"));
}
