// --experts on a mesh: experts on ranks of their own.
#include <cstdint>
#include <string>
#include <vector>

#include "course/parallel/mesh_shape.hpp"
#include "tests/course/mesh_records.hpp"

using dist::trainer::describe;

namespace {

/// Each of these with the options before it.
std::vector<std::string> with_each(
    const std::string& first, const std::vector<std::string>& meshes
) {
    std::vector<std::string> all;
    for (const std::string& mesh : meshes) {
        all.push_back(first + "--mesh " + mesh);
    }
    return all;
}

}  // namespace

TEST_CASE("gradients of experts on ranks of their own are those of one process", "[mesh]") {
    for (const auto& record : trained_with(
             4, with_each(
                    kExperts + "--balance 0 ",
                    {"ep=4", "dp=2,ep=2", "dp=4", "pp=2,ep=2", "dp=2,pp=2", "cp=2,ep=2",
                     "tp=2,ep=2", "tp=4", "dp=2,ep=2 --zero 1", "pp=2,ep=2 --zero 1",
                     "dp=2,ep=2 --micro-batches 2", "pp=2,ep=2 --pipeline gpipe --micro-batches 4",
                     "pp=2,ep=2 --pipeline interleaved --layers 4",
                     "pp=2,ep=2 --pipeline zb --micro-batches 4"}
                )
         )) {
        check_as_one_process(record);
    }
}

TEST_CASE("gradients of experts on every mesh of 8 ranks are too", "[mesh]") {
    std::vector<std::string> meshes;
    for (const int ep : {2, 4}) {
        for (const int pp : {1, 2}) {  // layers
            for (const int cp : {1, 2, 4}) {
                for (const int tp : {1, 2, 4}) {
                    if (8 % (ep * pp * cp * tp) == 0) {
                        const int dp = 8 / (ep * pp * cp * tp);
                        meshes.push_back(describe({.tp = tp, .cp = cp, .ep = ep, .dp = dp, .pp = pp}
                        ));
                    }
                }
            }
        }
    }
    REQUIRE(meshes.size() == 13);
    for (const auto& record : trained_with(8, with_each(kExperts + "--balance 0 ", meshes))) {
        check_as_one_process(record);
    }
}

TEST_CASE("each rank of ep holds its experts alone", "[mesh]") {
    const auto records =
        trained_with(4, with_each(kExperts, {"dp=4", "dp=2,ep=2", "ep=4", "ep=2,tp=2"}));
    const auto held = [&](std::size_t i) { return records[i].at("held").get<std::int64_t>(); };
    constexpr std::int64_t kExpert = 4L * 2 * (8 * 16 * 16 + 5 * 16);  // bytes, of both blocks
    CHECK(held(0) - held(1) == 2 * kExpert);
    CHECK(held(0) - held(2) == 3 * kExpert);
    CHECK(held(3) < held(1) - kExpert);
}

// The balance loss is a product of two means. So that of two micro-batches is not the mean of theirs.
TEST_CASE("the balance loss counts all ranks' tokens of a micro-batch", "[mesh]") {
    const std::vector<std::string> meshes = {
        "ep=4",
        "dp=2,ep=2",
        "dp=4",
        "pp=2,ep=2 --micro-batches 1",
        "cp=2,ep=2",
        "tp=2,ep=2",
        "dp=2,pp=2 --micro-batches 1"};
    const auto balanced = trained_with(4, with_each(kExperts + "--balance 1 ", meshes));
    for (const auto& record : balanced) {
        check_as_one_process(record);
    }
    const auto unbalanced = trained_with(4, with_each(kExperts + "--balance 0 ", {"ep=4"}));
    CHECK(unbalanced[0].at("digest") != balanced[0].at("digest"));
}

TEST_CASE("a full expert drops what it drops in one process with the same tokens", "[mesh]") {
    const std::string few = "--experts 4 --capacity-factor 0.5 --balance 1 ";
    check_as_one_process(trained_with(1, with_each(few, {"dp=1"}))[0]);
    check_as_one_process(trained_with(2, with_each(few, {"tp=2"}))[0]);
}
