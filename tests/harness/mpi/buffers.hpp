// What a message that is under way forbids: its buffer may not be written, nor read if it is to be
// received into, until it has been waited for. Note [Staging] would hide a breach of that: what is sent
// was copied long before.
#pragma once

#include <string>

#include "tests/harness/mpi/pending.hpp"

namespace dist::harness {

/// Whether elements of this type lie side by side, without gaps.
bool is_contiguous(MPI_Datatype type);

/// The bytes of a buffer, to be watched; none for a strided type, which may lie between others, and
/// none for MPI_Sendrecv_replace, which may use one buffer twice.
std::span<const std::byte> watched(const void* data, int n, MPI_Datatype type, const char* name);

/// Notes on the board a buffer that goes beyond the block of memory that it begins in: what explains the
/// crash, or the wrong values, that may come of it.
void note_overrun(std::span<const std::byte> buffer, const char* name);

/// Ends the test as `forbidden` if the new message's buffer overlaps that of another under way, and one
/// of the two is received into. To be used under the lock of pending().
void refuse_overlap(const Pending& posted, const char* name);

/// Remembers a send that was waited for, if its buffer holds something else than what was sent.
void note_change(const Pending& sent);

/// These sends in words, and forgets them; empty if there was none.
std::string changed_buffers();

}  // namespace dist::harness
