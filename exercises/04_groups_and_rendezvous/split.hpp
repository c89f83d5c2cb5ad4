// Exercise 04: groups inside of a communicator, made by hand.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"

namespace dist {

/// Some ranks of a communicator, in an order of their own, whose messages are never received by another group,
/// nor outside of any.
///
/// A group is made by Groups::split, and may be copied. The communicator outlives it.
class Group {
  public:
    /// Tags of a group's messages are 0 to kTags - 1.
    static constexpr int kTags = 1 << 16;

    /// Contexts are 1 to kContexts: (kContexts + 1) * kTags is 2^31, one more than an int can be.
    static constexpr int kContexts = (1 << 15) - 1;

    /// The empty group.
    Group() = default;

    /// ranks    of comm, by their rank in the group; this process is one of them.
    /// context  tells the messages of this group from those of others: 1, 2, ...
    Group(std::vector<int> ranks, int context, const Communicator& comm);

    /// This process's number in the group, 0 <= rank() < size(); -1 in the empty group.
    [[nodiscard]] int rank() const { return rank_; }

    /// How many ranks are in it; 0 in the empty group.
    [[nodiscard]] int size() const { return static_cast<int>(ranks_.size()); }

    /// The rank in the communicator of each one, by rank in the group.
    [[nodiscard]] const std::vector<int>& ranks() const { return ranks_; }

    /// Sends `data` to rank `dst` of the group, as send() of chapter 01 does.
    ///
    /// Cost    one message on the communicator. Its tag there is context * kTags + tag.
    /// Errors  std::invalid_argument, before anything is sent, if dst is no other rank of the group, or the tag no tag of
    ///         a group; dist::Error if the message fails.
    void send(std::span<const float> data, int dst, int tag) const;

    /// Receives exactly `data.size()` floats from rank `src` of the group, as recv() of chapter 01 does.
    ///
    /// Errors  as send's; dist::Error also if a message of another length comes.
    void recv(std::span<float> data, int src, int tag) const;

  private:
    std::vector<int> ranks_;
    int rank_ = -1;
    int context_ = 0;
    const Communicator* comm_ = nullptr;
};

/// The ranks that give `color`, ordered by key, and among equal keys by rank: what every rank finds
/// out for itself.
///
/// color   >= 0; of MPI_UNDEFINED there are none.
/// colors  of all ranks of a communicator, by rank; and so are keys. Any number of them.
///
/// Cost    O(p log p) operations, no message.
/// Errors  std::invalid_argument if there are not as many keys as colors.
std::vector<int> ordered_members(int color, std::span<const int> colors, std::span<const int> keys);

/// Makes the groups of one communicator. Messages of the communicator itself with tags below Group::kTags meet none of
/// theirs.
class Groups {
  public:
    /// comm  outlives this object and all its groups. It has one such object on each rank, which all ranks use alike.
    explicit Groups(const Communicator& comm) : comm_(comm) {}

    /// Ranks that give the same color form a group, in the order of ordered_members().
    /// The groups of the first call have context 1, those of the second one context 2, and so on; a
    /// call that throws does not count.
    ///
    /// name    of this call: "rows". All ranks of the communicator give the same one, since all make the same calls in the
    ///         same order. It tells the calls apart where they do not: any bytes, of any number.
    /// color   >= 0, or MPI_UNDEFINED for "in no group": the empty group is returned. Any int that is not negative.
    /// key     any int.
    ///
    /// Cost    collective: every rank of the communicator makes this call. One collective call of
    ///         MPI, such as MPI_Allgather, of so many bytes a rank whatever the name's length, and
    ///         no message beside it. So a fingerprint of the name travels: a piece of it would take
    ///         calls for the same whose names begin alike.
    /// Errors  std::invalid_argument, before any message, if color is negative and not
    ///         MPI_UNDEFINED. dist::Error, on all ranks, if some give another name than rank 0: the
    ///         text names the first such rank, and the name that this rank gives, where one of these
    ///         two gives the same. After kContexts calls there are no more contexts: dist::Error,
    ///         before any message.
    /// Source  MPI 3.1 standard, section 6.4.2, MPI_Comm_split; PyTorch, torch.distributed.new_group, whose callers
    ///         have to keep the same order, and are not told when they do not.
    Group split(const std::string& name, int color, int key);

  private:
    const Communicator& comm_;
    int calls_ = 0;  // of split, so far
};

}  // namespace dist
