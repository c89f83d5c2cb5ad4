// gather: everyone's chunk on the root, in rank order, one message from each of the others to it.
#include "exercises/02_naive_collectives/gather.hpp"

#include <unistd.h>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "tests/02_naive_collectives/collective_support.hpp"
#include "tests/02_naive_collectives/labels_support.hpp"
#include "tests/harness/harness.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid({"collectives"}, "gather is to be built from send and recv");

/// Rank `rank`'s chunk when n elements are gathered: numbered from 0 on every rank.
std::vector<float> chunk(std::size_t n, int rank, int p, int call = 0) {
    return labels(chunk_bounds(n, p, rank).size(), rank, call);
}

std::vector<float> own_chunk(std::size_t n, const Communicator& comm, int call = 0) {
    return chunk(n, comm.rank(), comm.size(), call);
}

/// Whether the root holds all chunks in order, and no other rank's `out` was touched.
Comparison is_gathered(
    const std::vector<float>& out, int root, const Communicator& comm, int call = 0
) {
    const std::size_t n = out.size();
    std::vector<float> expected;
    for (int r = 0; r < comm.size(); ++r) {
        const auto part = chunk(n, r, comm.size(), call);
        expected.insert(expected.end(), part.begin(), part.end());
    }
    if (comm.rank() == root) {
        return same_labels(out, expected);
    }
    for (std::size_t i = 0; i < n; ++i) {
        if (out[i] == out[i]) {  // NaN, which it was filled with, is not equal to itself
            return {
                false, "index " + std::to_string(i) + " was written: " + label_text(out[i]) +
                           "; only the root's out is"};
        }
    }
    return {};
}

}  // namespace

TEST_CASE("gather puts every rank's chunk in its place on the root, for every root") {
    on_ranks({3, 1, 2, 4, 5}, [](const Communicator& comm) {
        for (int root = 0; root < comm.size(); ++root) {
            for (const std::size_t n : lengths(comm)) {
                INFO(
                    n << " floats of " << comm.size() << " ranks to root " << root
                      << "; chunk_bounds says where each rank's chunk begins in the root's out"
                );
                const auto in = own_chunk(n, comm);
                auto out = poison(n);
                // record, for its end: nobody goes on to the next root before all have returned
                record(comm, [&] { gather(in, out, root, comm); });
                CHECK(is_gathered(out, root, comm));
                CHECK(same_labels(in, own_chunk(n, comm)));
            }
        }
    });
}

TEST_CASE("gather needs no out on the ranks that are not the root") {
    on_ranks({3, 2, 4, 5}, [](const Communicator& comm) {
        auto out = poison(comm.rank() == 0 ? 7 : 0);
        gather(own_chunk(7, comm), out, 0, comm);
        if (comm.rank() == 0) {
            CHECK(is_gathered(out, 0, comm));
        }
    });
}

TEST_CASE("two gathers in a row do not mix, when one rank is late") {
    on_ranks({3, 4, 5}, [](const Communicator& comm) {
        const int late = comm.size() - 1;
        const std::size_t n = 20 * static_cast<std::size_t>(comm.size());
        for (int repetition = 0; repetition < 4; ++repetition) {
            auto first = poison(n);
            auto second = poison(n);
            record(comm, [&] {
                if (comm.rank() == late) {
                    usleep(3000);
                }
                gather(own_chunk(n, comm, 0), first, 0, comm);
                gather(own_chunk(n, comm, 1), second, 0, comm);
            });
            INFO(
                "rank " << late << " came late; the others had entered the second gather, whose "
                        << "messages are not for the first: which rank's message is received?"
            );
            CHECK(is_gathered(first, 0, comm, 0));
            CHECK(is_gathered(second, 0, comm, 1));
        }
    });
}

TEST_CASE("gather costs one message from each rank, and each carries that rank's chunk alone") {
    on_ranks({3, 1, 2, 4, 5}, [](const Communicator& comm) {
        const long others = comm.size() - 1;
        for (int root = 0; root < comm.size(); ++root) {
            for (const std::size_t n : {1000U, 1U}) {
                const auto in = own_chunk(n, comm);
                auto out = poison(n);
                const Traffic traffic = record(comm, [&] { gather(in, out, root, comm); });
                const long in_bytes = 4 * static_cast<long>(in.size());
                INFO(
                    n << " floats of " << comm.size() << " ranks to root " << root
                      << ": each sends its chunk to the root, also an empty one"
                );
                INFO("only the root receives; a rank that passes chunks on is another algorithm");
                if (comm.rank() == root) {
                    CHECK(traffic.messages_received == others);
                    CHECK(traffic.bytes_received == 4 * static_cast<long>(n) - in_bytes);
                    CHECK(traffic.messages_sent == 0);
                    CHECK(traffic.rounds == others);
                } else {
                    CHECK(traffic.messages_received == 0);
                    CHECK(traffic.messages_sent == 1);
                    CHECK(traffic.bytes_sent == in_bytes);
                    CHECK(traffic.sent_to == std::set{root});
                }
            }
        }
    });
}

TEST_CASE("gather refuses a root that is not a rank") {
    on_ranks({3, 1, 2}, [](const Communicator& comm) {
        for (const int root : {comm.size(), comm.size() + 3, -1}) {
            INFO("root " << root << " of " << comm.size() << " ranks: every rank must refuse it");
            auto out = poison(7);
            const std::string what_it_did =
                answer([&] { gather(own_chunk(7, comm), out, root, comm); });
            CHECK(what_it_did == "std::invalid_argument");
        }
    });
}

TEST_CASE("gather refuses a chunk that has not the length it must have, on the root") {
    on_ranks({2}, [](const Communicator& comm) {
        for (const std::size_t wrong : {2U, 4U}) {
            INFO("rank 1's chunk of 6 floats has 3, and it sends " << wrong);
            auto out = poison(6);
            const auto in = labels(comm.rank() == 1 ? wrong : 3, comm.rank());
            const std::string what_it_did = answer([&] { gather(in, out, 0, comm); });
            CHECK(what_it_did == (comm.rank() == 0 ? "dist::Error" : kReturned));
        }
    });
    on_ranks({1}, [](const Communicator& comm) {
        for (const std::size_t wrong : {6U, 8U}) {
            INFO("the root's own chunk has 7 floats, its in has " << wrong);
            auto out = poison(7);
            const std::string what_it_did = answer([&] { gather(labels(wrong, 0), out, 0, comm); });
            CHECK(what_it_did == "std::invalid_argument");
        }
    });
}

TEST_CASE("gather collects from the ranks of the communicator that was given, and from no others") {
    on_ranks({3, 2, 4, 5}, [](const Communicator& comm) {
        on_groups(comm, [](const Communicator& group) {
            auto out = poison(7);
            gather(own_chunk(7, group), out, 0, group);
            CHECK(is_gathered(out, 0, group));
        });
    });
}

TEST_CASE("gather is right for a large message") {
    on_ranks({3, 5}, [](const Communicator& comm) {
        auto out = poison(300'001);
        gather(own_chunk(out.size(), comm), out, 1, comm);
        CHECK(is_gathered(out, 1, comm));
    });
}
