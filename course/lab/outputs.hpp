// Files that a bench is to write, tried before it measures.
#pragma once

#include <string>
#include <system_error>
#include <vector>

#include <mpi.h>

#include "course/files/atomic_file.hpp"
#include "course/lab/options.hpp"
#include "course/plots/gnuplot.hpp"
#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"

namespace dist::lab {

/// Where rank 0 has found something to refuse, all ranks do.
///
/// Errors  UsageError, on every rank.
inline void agree_on(const std::string& refusal, const Communicator& comm) {
    int refused = refusal.empty() ? 0 : 1;
    MPI_CHECK(MPI_Bcast(&refused, 1, MPI_INT, 0, comm.handle()));
    if (refused != 0) {
        throw UsageError(refusal);
    }
}

/// Refuses what would be noticed only after a long measurement. Files are rank 0's; all ranks hear.
///
/// files   to write, each "-" or empty if there is none.
/// svg     file, or nothing: then gnuplot is not needed.
///
/// Errors  UsageError, on every rank.
inline void check_outputs(
    const std::vector<std::string>& files, const std::string& svg, const Communicator& comm
) {
    std::string refusal;
    if (comm.rank() == 0) {
        try {
            for (const std::string& file : files) {
                if (!file.empty() && file != "-") {
                    files::check_writable(file);
                }
            }
            if (!svg.empty()) {
                files::check_writable(svg);
                const std::string advice = plots::missing_gnuplot();
                refusal = advice.empty() ? "" : "--svg " + advice;
            }
        } catch (const std::system_error& error) {
            refusal = error.what();
        }
    }
    agree_on(refusal, comm);
}

}  // namespace dist::lab
