// What a rank may still write when it is to be closed: SHARDLINGS_CLOSED.
#pragma once

namespace dist::harness {

/// From here on this thread, and all that it starts, write below the folder that it is in, /tmp and /dev alone: not the
/// records of this run, and not /proc/self/mem, by which memory could be written past every protection. Does nothing
/// where that is not asked for; where the kernel has no Landlock, what is left is that this process is nobody's to
/// look at.
void close_files_if_asked();

}  // namespace dist::harness
