// all_gather: everyone's chunk on every rank, in rank order, through rank 0.
#include "exercises/02_naive_collectives/all_gather.hpp"

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "tests/02_naive_collectives/collective_support.hpp"
#include "tests/02_naive_collectives/labels_support.hpp"
#include "tests/harness/harness.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid({"collectives"}, "all_gather is to be built from gather and broadcast");

/// Rank `rank`'s chunk when n elements are gathered: numbered from 0 on every rank.
std::vector<float> chunk(std::size_t n, int rank, int p, int call = 0) {
    return labels(chunk_bounds(n, p, rank).size(), rank, call);
}

std::vector<float> own_chunk(std::size_t n, const Communicator& comm, int call = 0) {
    return chunk(n, comm.rank(), comm.size(), call);
}

Comparison has_all_chunks(const std::vector<float>& out, const Communicator& comm, int call = 0) {
    std::vector<float> expected;
    for (int r = 0; r < comm.size(); ++r) {
        const auto part = chunk(out.size(), r, comm.size(), call);
        expected.insert(expected.end(), part.begin(), part.end());
    }
    return same_labels(out, expected);
}

}  // namespace

TEST_CASE("all_gather gives every rank all chunks, in rank order") {
    on_ranks({3, 1, 2, 4, 5}, [](const Communicator& comm) {
        for (const std::size_t n : lengths(comm)) {
            INFO(n << " floats of " << comm.size() << " ranks, on every rank");
            const auto in = own_chunk(n, comm);
            auto out = poison(n);
            record(comm, [&] { all_gather(in, out, comm); });
            CHECK(has_all_chunks(out, comm));
            CHECK(same_labels(in, own_chunk(n, comm)));
        }
    });
}

TEST_CASE("all_gather leaves the same bits on every rank") {
    on_ranks({3, 1, 2, 4, 5}, [](const Communicator& comm) {
        auto out = poison(1000);
        all_gather(own_chunk(1000, comm), out, comm);
        CHECK(same_on_all_ranks(out, comm));
    });
}

TEST_CASE("all_gather sends every message from or to rank 0: chunks to it, the whole back") {
    on_ranks({3, 1, 2, 4, 5}, [](const Communicator& comm) {
        const std::size_t n = 1000;
        const long others = comm.size() - 1;
        const long n_bytes = 4 * static_cast<long>(n);
        const auto in = own_chunk(n, comm);
        auto out = poison(n);
        const Traffic traffic = record(comm, [&] { all_gather(in, out, comm); });
        const long in_bytes = 4 * static_cast<long>(in.size());
        INFO(
            comm.size()
            << " ranks: gather to rank 0, one chunk from each, then broadcast from rank "
            << "0, the whole to each. Anything else is another algorithm"
        );
        if (comm.rank() == 0) {
            CHECK(traffic.messages_received == others);
            CHECK(traffic.bytes_received == n_bytes - in_bytes);
            CHECK(traffic.messages_sent == others);
            CHECK(traffic.bytes_sent == others * n_bytes);
        } else {
            CHECK(traffic.messages_sent == 1);
            CHECK(traffic.bytes_sent == in_bytes);
            CHECK(traffic.messages_received == 1);
            CHECK(traffic.bytes_received == n_bytes);
            CHECK(traffic.partners() == std::set{0});
        }
        CHECK(traffic.rounds <= 2 * others);
    });
}

TEST_CASE("all_gather refuses an in that is not as long as this rank's chunk") {
    on_ranks({1}, [](const Communicator& comm) {
        for (const std::size_t wrong : {6U, 8U}) {
            INFO("the only chunk has 7 floats, in has " << wrong);
            auto out = poison(7);
            const std::string what_it_did =
                answer([&] { all_gather(labels(wrong, 0), out, comm); });
            CHECK(what_it_did == "std::invalid_argument");
        }
    });
}

TEST_CASE("two all_gathers in a row do not mix") {
    on_ranks({3, 2, 4, 5}, [](const Communicator& comm) {
        auto first = poison(1000);
        auto second = poison(1000);
        all_gather(own_chunk(1000, comm, 0), first, comm);
        all_gather(own_chunk(1000, comm, 1), second, comm);
        CHECK(has_all_chunks(first, comm, 0));
        CHECK(has_all_chunks(second, comm, 1));
    });
}

TEST_CASE("all_gather collects from the ranks of the communicator that was given, and no others") {
    on_ranks({3, 2, 4, 5}, [](const Communicator& comm) {
        on_groups(comm, [](const Communicator& group) {
            auto out = poison(7);
            all_gather(own_chunk(7, group), out, group);
            CHECK(has_all_chunks(out, group));
        });
    });
}

TEST_CASE("all_gather is right for a large message") {
    on_ranks({3, 5}, [](const Communicator& comm) {
        auto out = poison(300'001);
        all_gather(own_chunk(out.size(), comm), out, comm);
        CHECK(has_all_chunks(out, comm));
    });
}
