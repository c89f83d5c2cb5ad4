// nccl_send, nccl_recv and nccl_ring_shift: what arrives, in how many messages, in which order, and in
// which stream.
#include "exercises/01_point_to_point/nccl_send_recv.hpp"

#include "course/gpu/scale.hpp"
#include "course/protocol/counted.hpp"
#include "tests/harness/gpu/collectives.hpp"
#include "tests/harness/gpu/gpu.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const ForbidNcclCollectives kForbid("This exercise is about single messages: ncclSend and ncclRecv."
);

/// What nccl_ring_shift leaves on this rank; rank r sends r + 1 elements for every one of `n`.
Comparison shifted(
    std::size_t n, std::uint64_t salt, bool same_length, const NcclCommunicator& comm
) {
    const int p = comm.size();
    const int prev = (comm.rank() + p - 1) % p;
    const int next = (comm.rank() + 1) % p;
    const auto length = [&](int rank) {
        return same_length ? n : n * static_cast<std::size_t>(rank + 1);
    };
    const auto mine = input(length(comm.rank()), comm.rank(), salt);
    const DeviceBuffer to_next(mine);
    const DeviceBuffer from_prev(poison(length(prev)));
    nccl_ring_shift(to_next.span(), from_prev.span(), comm);
    comm.wait();
    if (const Comparison kept = same(to_next.to_host(), mine); !kept) {
        return {false, "to_next was changed: " + kept.text};
    }
    return same(
        from_prev.to_host(), input(length(prev), prev, salt), 0,
        {{mine, "that is this rank's own message"},
         {input(length(next), next, salt), "that is the message of the next rank: it went left"}}
    );
}

}  // namespace

TEST_CASE("nccl_recv gets what nccl_send sent, in one message, at every length") {
    const std::size_t n = GENERATE(7U, 0U, 1U, 1000U, 300'000U);
    on_gpus({2, 3, 5}, [&](const NcclCommunicator& comm) {
        INFO(
            "rank 0 sends " << counted(n, "float") << " to the last rank of " << comm.size()
                            << ": one message of " << 4 * n << " bytes, and no other"
        );
        INFO("When comm.wait() returns, what was put into comm.stream() is done, and nothing else."
        );
        const bool is_src = comm.rank() == 0;
        const bool is_dst = comm.rank() == comm.size() - 1;
        const auto data = input(n, 0);
        const DeviceBuffer to_send(data);
        const DeviceBuffer received(poison(n));
        const Traffic traffic = record(comm, [&] {
            if (is_src) {
                nccl_send(to_send.span(), comm.size() - 1, comm);
            } else if (is_dst) {
                nccl_recv(received.span(), 0, comm);
            }
        });
        const long n_bytes = static_cast<long>(n * sizeof(float));
        CHECK(traffic.messages_sent == (is_src ? 1 : 0));
        CHECK(traffic.messages_received == (is_dst ? 1 : 0));
        CHECK(traffic.bytes_sent == (is_src ? n_bytes : 0));
        CHECK(same(to_send.to_host(), data));
        if (is_dst) {
            CHECK(same(received.to_host(), data));
        }
    });
}

TEST_CASE("messages between two ranks arrive in the order in which they were sent") {
    on_gpus({2, 3}, [](const NcclCommunicator& comm) {
        const std::size_t n = 7;
        const DeviceBuffer first(comm.rank() == 0 ? input(n, 0, 1) : poison(n));
        const DeviceBuffer second(comm.rank() == 0 ? input(n, 0, 2) : poison(n));
        if (comm.rank() == 0) {
            nccl_send(first.span(), 1, comm);
            nccl_send(second.span(), 1, comm);
        } else if (comm.rank() == 1) {
            nccl_recv(first.span(), 0, comm);
            nccl_recv(second.span(), 0, comm);
        }
        comm.wait();
        if (comm.rank() == 1) {
            CHECK(same(first.to_host(), input(n, 0, 1), 0, {{input(n, 0, 2), "that came second"}}));
            CHECK(same(second.to_host(), input(n, 0, 2), 0, {{input(n, 0, 1), "that came first"}}));
        }
    });
}

TEST_CASE("nccl_send and nccl_recv take their turn in the stream") {
    on_gpus({2, 3}, [](const NcclCommunicator& comm) {
        const std::size_t n = 1000;
        auto expected = input(n, 0);
        const DeviceBuffer data(comm.rank() == 0 ? expected : poison(n));
        if (comm.rank() == 0) {
            scale(data.span(), 2.0F, comm.stream());
            nccl_send(data.span(), 1, comm);
        } else if (comm.rank() == 1) {
            nccl_recv(data.span(), 0, comm);
            scale(data.span(), 4.0F, comm.stream());
        }
        comm.wait();
        INFO(
            "rank 0 doubles the data, then sends it; rank 1 receives it, then makes it four times "
            "as large"
        );
        if (comm.rank() == 1) {
            const auto original = expected;
            auto sent = expected;
            scale(sent, 2.0F);
            scale(expected, 8.0F);
            CHECK(same(
                data.to_host(), expected, 0,
                {{original, "rank 0 sent before it doubled: work in two streams has no order"},
                 {sent, "rank 1 received last of all: work in two streams has no order"}}
            ));
        }
    });
}

TEST_CASE("whoever calls nccl_send and nccl_recv may put them into a group") {
    on_gpus({1, 2, 3, 5}, [](const NcclCommunicator& comm) {
        const int p = comm.size();
        const int next = (comm.rank() + 1) % p;
        const int prev = (comm.rank() + p - 1) % p;
        const std::size_t n = 1000;
        const DeviceBuffer out(input(n, comm.rank()));
        const DeviceBuffer in(poison(n));
        NCCL_CHECK(ncclGroupStart());
        nccl_send(out.span(), prev, comm);
        nccl_recv(in.span(), next, comm);
        NCCL_CHECK(ncclGroupEnd());
        comm.wait();
        CHECK(same(in.to_host(), input(n, next)));
    });
}

TEST_CASE("nccl_send and nccl_recv throw dist::Error where NCCL refuses the call") {
    const bool sends = GENERATE(true, false);
    const auto refused = [&](const NcclCommunicator& comm) {
        const DeviceBuffer data(poison(7));
        const int nobody = comm.size();
        INFO("there is no rank " << nobody << ": NCCL says so, and NCCL_CHECK looks at it");
        if (sends) {
            CHECK_THROWS_AS(nccl_send(data.span(), nobody, comm), Error);
        } else {
            CHECK_THROWS_AS(nccl_recv(data.span(), nobody, comm), Error);
        }
        (void)ncclGroupEnd();  // of a group that was begun around the call
    };
    on_gpus({2, 3}, refused, Connection::own);
}

TEST_CASE("nccl_ring_shift brings every rank its left neighbour's message") {
    const std::size_t n = GENERATE(7U, 0U, 1U, 1000U, 300'000U);
    on_gpus({3, 1, 2, 4, 5}, [&](const NcclCommunicator& comm) {
        INFO("n = " << n << ", p = " << comm.size());
        const Comparison result = shifted(n, 0, true, comm);
        CHECK(result);
    });
}

TEST_CASE("nccl_ring_shift takes a different length from every rank") {
    on_gpus({1, 2, 3, 5}, [](const NcclCommunicator& comm) {
        const Comparison result = shifted(7, 0, false, comm);
        CHECK(result);
    });
}

TEST_CASE("nccl_ring_shift sends one message to the right and receives one from the left") {
    on_gpus({1, 2, 3, 4, 5}, [](const NcclCommunicator& comm) {
        const int p = comm.size();
        const DeviceBuffer out(input(1000, comm.rank()));
        const DeviceBuffer in(poison(1000));
        const Traffic traffic = record(comm, [&] { nccl_ring_shift(out.span(), in.span(), comm); });
        INFO("p = " << p << ": all ranks send and receive at the same time, which is one round");
        CHECK(traffic.messages_sent == 1);
        CHECK(traffic.bytes_sent == 4000);
        CHECK(traffic.sent_to == std::set<int>{(comm.rank() + 1) % p});
        CHECK(traffic.received_from == std::set<int>{(comm.rank() + p - 1) % p});
        CHECK(traffic.rounds <= 1);
    });
}

TEST_CASE("two calls of nccl_ring_shift in a row do not mix") {
    on_gpus({1, 2, 3, 5}, [](const NcclCommunicator& comm) {
        const Comparison first = shifted(1000, 1, true, comm);
        const Comparison second = shifted(1000, 2, true, comm);
        CHECK(first);
        CHECK(second);
    });
}
