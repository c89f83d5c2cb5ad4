// A process that is killed can say nothing; another one can say it.
#pragma once

namespace dist {

/// Goes on in a child of this process. The process itself waits, prints of which signal the child died,
/// as "rank 1 died of SIGKILL", and ends as it did: mpirun, whose child it is, sees no difference.
/// If no child can be made, all goes on as if nothing had been asked.
///
/// Call it first in main(), before there are threads, and before MPI is started.
void tell_of_death();

}  // namespace dist
