// What a rank may still write when it is to be closed: SHARDLINGS_CLOSED.
#pragma once

namespace dist::harness {

/// From here on this thread, and all that it starts, write below the folder that it is in, /tmp and /dev alone: not the
/// records of this run. Does nothing where that is not asked for, or where the kernel has no Landlock. Where it is asked for, the
/// memory of this program is nobody's to look at from its start on, not by /proc/self/mem either.
void close_files_if_asked();

}  // namespace dist::harness
