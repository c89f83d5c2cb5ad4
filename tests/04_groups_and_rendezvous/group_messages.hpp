// Messages in groups: whose they are, and which tags they have on the communicator.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <mpi.h>

#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/04_groups_and_rendezvous/split.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/words/patterns.hpp"

namespace dist::harness {

/// Each rank of the group tells the next one its number in the communicator. Did the previous one's
/// come?
inline Comparison passes_on(const Group& group, int tag = 0) {
    const int p = group.size();
    const int r = group.rank();
    if (p < 2) {
        return {};
    }
    const auto number = [&](int rank) {
        return static_cast<float>(group.ranks()[static_cast<std::size_t>((rank + p) % p)]);
    };
    const float mine[] = {number(r), number(r)};
    float got[] = {-1, -1};
    if (r == 0) {
        group.send(mine, 1, tag);
        group.recv(got, p - 1, tag);
    } else {
        group.recv(got, r - 1, tag);
        group.send(mine, (r + 1) % p, tag);
    }
    const float previous = number(r - 1);
    return same(got, std::vector{previous, previous});
}

/// Does a message that was sent in a group with `tag` have this tag on the communicator?
inline Comparison same_tag(int got, int context, int tag) {
    const int expected = context * Group::kTags + tag;
    std::string text = "expected tag " + std::to_string(expected) + " on the communicator, got " +
                       std::to_string(got);
    if (got == tag) {
        text +=
            ": that is the tag alone, as if the context were 0. Messages of the communicator may "
            "have it as well: the first call has context 1";
    } else if (got % Group::kTags == tag) {
        text += ": as if its context were " + std::to_string(got / Group::kTags) + ", and it is " +
                std::to_string(context) + ": the number of the call, the same on all ranks";
    }
    return {got == expected, text};
}

/// passes_on(), and whether its messages carry the tags of this context. Every rank of `comm` makes
/// this call.
inline Comparison passes_on_in(int context, const Group& group, int tag, const Communicator& comm) {
    Comparison arrived;
    const Traffic traffic = record(comm, [&] { arrived = passes_on(group, tag); });
    if (!arrived || !traffic.counted) {
        return arrived;
    }
    for (const MessageRecord& message : recorded_messages(comm)) {
        if (message.dst == comm.rank()) {
            arrived = same_tag(message.tag, context, tag);
        }
    }
    return arrived;
}

/// What is sent on a channel with tag 7: 0 is the communicator itself, others are groups.
struct Channels {
    const Communicator& comm;
    std::vector<Group> groups;

    void send(int channel, std::span<const float> data, int dst) const {
        channel == 0 ? dist::send(data, dst, comm, 7) : group(channel).send(data, dst, 7);
    }
    void recv(int channel, std::span<float> data, int src) const {
        channel == 0 ? dist::recv(data, src, comm, 7) : group(channel).recv(data, src, 7);
    }
    [[nodiscard]] const Group& group(int channel) const {
        return groups[static_cast<std::size_t>(channel - 1)];
    }
};

inline std::string channel_text(int channel) {
    return channel == 0 ? "the communicator" : "the group of call " + std::to_string(channel);
}

/// Rank 0 has two messages to rank 1 under way, the one of `a` first; rank 1 receives them in
/// either order.
inline void two_under_way(const Channels& channels, int a, int b, bool a_first) {
    const int r = channels.comm.rank();
    const auto of_a = input(5, 0, 1);
    const auto of_b = input(5, 0, 2);
    if (r == 0) {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Isend(
            of_a.data(), 5, MPI_FLOAT, 1, a * Group::kTags + 7, channels.comm.handle(), &request
        );
        channels.send(b, of_b, 1);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (r == 1) {
        auto got_a = poison(5);
        auto got_b = poison(5);
        channels.recv(a_first ? a : b, a_first ? got_a : got_b, 0);
        channels.recv(a_first ? b : a, a_first ? got_b : got_a, 0);
        INFO(
            "rank 0 sent in " << channel_text(a) << ", then in " << channel_text(b)
                              << ", both with tag 7; rank 1 received in "
                              << channel_text(a_first ? a : b) << " first"
        );
        const Comparison in_a =
            same(got_a, of_a, 0, {{of_b, "that was sent in " + channel_text(b)}});
        const Comparison in_b =
            same(got_b, of_b, 0, {{of_a, "that was sent in " + channel_text(a)}});
        CHECK(in_a);
        CHECK(in_b);
    }
}

/// All others send to the group's rank 0, which receives from the last one first.
inline void receives_from_each(const Group& group) {
    if (group.rank() != 0) {
        group.send(input(5, group.rank()), 0, 7);
        return;
    }
    for (int src = group.size() - 1; src > 0; --src) {
        auto got = poison(5);
        group.recv(got, src, 7);
        std::vector<Suspicion> others;
        for (int other = 1; other < group.size(); ++other) {
            others.push_back(
                {input(5, other),
                 "that is the message of the group's rank " + std::to_string(other)}
            );
        }
        INFO("all other ranks send to the group's rank 0, which receives from " << src);
        const Comparison message = same(got, input(5, src), 0, others);
        CHECK(message);
    }
}

inline void carries_any_number_of_floats() {
    on_ranks({2, 3}, [](const Communicator& comm) {
        const int last = comm.size() - 1;
        Groups groups(comm);
        const Group group = groups.split("turned around", 0, -comm.rank());
        for (const std::size_t n : lengths(comm.size())) {
            auto data = group.rank() == 0 ? input(n, 0) : poison(n);
            const Traffic traffic = record(comm, [&] {
                if (group.rank() == 0) {
                    group.send(data, last, 3);
                } else if (group.rank() == last) {
                    group.recv(data, 0, 3);
                }
            });
            INFO(counted(n, "float") << " from the group's rank 0 to its rank " << last);
            const bool sends = group.rank() == 0;
            const Comparison spent = within(
                traffic, {.messages_sent = exactly(sends ? 1 : 0),
                          .bytes_sent = exactly(sends ? float_bytes(n) : 0)}
            );
            CHECK(spent);
            if (group.rank() == last) {
                CHECK(same(data, input(n, 0)));
            }
        }
    });
}

inline void refuses_other_lengths() {
    on_ranks({2, 3}, [](const Communicator& comm) {
        Groups groups(comm);
        const Group group = groups.split("all", 0, 0);
        for (const std::size_t n : {4U, 6U, 0U}) {
            auto data = comm.rank() == 0 ? input(5, 0) : poison(n);
            const Answer got = answer(comm, [&] {
                if (comm.rank() == 0) {
                    group.send(data, 1, 0);
                } else if (comm.rank() == 1) {
                    group.recv(data, 0, 0);
                }
            });
            INFO("5 floats were sent, and " << n << " are received: recv must throw dist::Error");
            CHECK(got.what == (comm.rank() == 1 ? kError : kReturned));
        }
    });
}

/// The test's own, where the exercise may not.
inline Communicator split_by_mpi(const Communicator& comm, int color) {
    const Permit the_tests_own;
    return comm.split(color, comm.rank());
}

}  // namespace dist::harness
