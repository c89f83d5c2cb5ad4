// scatter: chunk i of the root's data on rank i, one message from the root to each of the others.
#include "exercises/02_naive_collectives/scatter.hpp"

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "tests/02_naive_collectives/collective_support.hpp"
#include "tests/02_naive_collectives/labels_support.hpp"
#include "tests/harness/harness.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid({"collectives"}, "scatter is to be built from send and recv");

Chunk chunk_of(std::size_t n, const Communicator& comm) {
    return chunk_bounds(n, comm.size(), comm.rank());
}

/// What the ranks hold before the call: the root its data, the others nothing at all.
std::vector<float> before(std::size_t n, int root, const Communicator& comm, int call = 0) {
    return comm.rank() == root ? labels(n, root, call) : std::vector<float>();
}

Comparison is_own_chunk(
    const std::vector<float>& out, std::size_t n, int root, const Communicator& comm, int call = 0
) {
    const Chunk chunk = chunk_of(n, comm);
    return same_labels(out, labels(chunk.begin, chunk.end, root, call));
}

}  // namespace

TEST_CASE("scatter gives rank i chunk i, whichever rank is the root") {
    on_ranks({3, 2, 4, 5}, [](const Communicator& comm) {
        const std::size_t n = 2 * static_cast<std::size_t>(comm.size());  // all chunks alike
        for (int root = 0; root < comm.size(); ++root) {
            INFO(
                n << " floats from root " << root << " to " << comm.size()
                  << " ranks; only the root has an in, the others know the length from out"
            );
            auto out = poison(2);
            record(comm, [&] { scatter(before(n, root, comm), out, root, comm); });
            CHECK(is_own_chunk(out, n, root, comm));
        }
    });
}

TEST_CASE("scatter gives every rank its chunk also where p does not divide n") {
    on_ranks({3, 1, 2, 4, 5}, [](const Communicator& comm) {
        for (int root = 0; root < comm.size(); ++root) {
            for (const std::size_t n : lengths(comm)) {
                INFO(
                    n << " floats from root " << root << " to " << comm.size()
                      << " ranks; chunk_bounds says which elements are this rank's: "
                      << chunk_of(n, comm).begin << " up to, but not " << chunk_of(n, comm).end
                );
                const auto in = before(n, root, comm);
                auto out = poison(chunk_of(n, comm).size());
                // record, for its end: nobody goes on to the next root before all have returned
                record(comm, [&] { scatter(in, out, root, comm); });
                CHECK(is_own_chunk(out, n, root, comm));
                CHECK(same_labels(in, before(n, root, comm)));
            }
        }
    });
}

TEST_CASE("scatter costs one message to each rank, and each carries that rank's chunk alone") {
    on_ranks({3, 1, 2, 4, 5}, [](const Communicator& comm) {
        const long others = comm.size() - 1;
        for (int root = 0; root < comm.size(); ++root) {
            for (const std::size_t n : {1000U, 1U}) {
                const auto in = before(n, root, comm);
                auto out = poison(chunk_of(n, comm).size());
                const Traffic traffic = record(comm, [&] { scatter(in, out, root, comm); });
                const long out_bytes = 4 * static_cast<long>(out.size());
                INFO(
                    n << " floats from root " << root << " to " << comm.size()
                      << " ranks: it sends to each of the others its chunk, also an empty one"
                );
                if (comm.rank() == root) {
                    CHECK(traffic.messages_sent == others);
                    CHECK(traffic.bytes_sent == 4 * static_cast<long>(n) - out_bytes);
                    CHECK(traffic.messages_received == 0);
                    CHECK(traffic.rounds == others);
                } else {
                    INFO("only the root sends, and a rank receives no more than its own chunk");
                    CHECK(traffic.messages_sent == 0);
                    CHECK(traffic.messages_received == 1);
                    CHECK(traffic.bytes_received == out_bytes);
                    CHECK(traffic.received_from == std::set{root});
                }
            }
        }
    });
}

TEST_CASE("scatter refuses a root that is not a rank") {
    on_ranks({3, 1, 2}, [](const Communicator& comm) {
        for (const int root : {comm.size(), comm.size() + 3, -1}) {
            INFO("root " << root << " of " << comm.size() << " ranks: every rank must refuse it");
            const auto in = labels(7, comm.rank());
            auto out = poison(chunk_of(7, comm).size());
            const std::string what_it_did = answer([&] { scatter(in, out, root, comm); });
            CHECK(what_it_did == "std::invalid_argument");
        }
    });
}

TEST_CASE("scatter refuses an out that is not as long as the chunk, on the rank that has it") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        for (const std::size_t wrong : {2U, 4U}) {
            INFO("the chunk has 3 floats, the last rank's out has " << wrong);
            const int last = comm.size() - 1;
            const std::size_t n = 3 * static_cast<std::size_t>(comm.size());
            const auto in = before(n, 0, comm);
            auto out = poison(comm.rank() == last ? wrong : 3);
            const std::string what_it_did = answer([&] { scatter(in, out, 0, comm); });
            CHECK(what_it_did == (comm.rank() == last ? "dist::Error" : kReturned));
        }
    });
    on_ranks({1}, [](const Communicator& comm) {
        for (const std::size_t wrong : {6U, 8U}) {
            INFO("the root's own chunk has 7 floats, its out has " << wrong);
            auto out = poison(wrong);
            const std::string what_it_did = answer([&] { scatter(labels(7, 0), out, 0, comm); });
            CHECK(what_it_did == "std::invalid_argument");
        }
    });
}

TEST_CASE("two scatters in a row do not mix") {
    on_ranks({3, 2, 4, 5}, [](const Communicator& comm) {
        const std::size_t n = 1000;
        for (const int second_root : {0, 1, comm.size() - 1}) {
            const int first_root = comm.size() - 1 - second_root;
            auto first = poison(chunk_of(n, comm).size());
            auto second = first;
            INFO("from root " << first_root << ", and at once from root " << second_root);
            scatter(before(n, first_root, comm, 0), first, first_root, comm);
            scatter(before(n, second_root, comm, 1), second, second_root, comm);
            CHECK(is_own_chunk(first, n, first_root, comm, 0));
            CHECK(is_own_chunk(second, n, second_root, comm, 1));
        }
    });
}

TEST_CASE("scatter goes to the ranks of the communicator that was given, and to no others") {
    on_ranks({3, 2, 4, 5}, [](const Communicator& comm) {
        on_groups(comm, [](const Communicator& group) {
            auto out = poison(chunk_of(7, group).size());
            scatter(before(7, 0, group), out, 0, group);
            CHECK(is_own_chunk(out, 7, 0, group));
        });
    });
}

TEST_CASE("scatter is right for a large message") {
    on_ranks({3, 5}, [](const Communicator& comm) {
        const std::size_t n = 300'001;
        auto out = poison(chunk_of(n, comm).size());
        scatter(before(n, 1, comm), out, 1, comm);
        CHECK(is_own_chunk(out, n, 1, comm));
    });
}
