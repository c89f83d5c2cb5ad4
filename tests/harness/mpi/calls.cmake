# Writes mpi_calls.cpp from mpi.h: what becomes of every MPI call that mpi_*.cpp does not follow by hand.
#
#     cmake -DHEADER=.../mpi.h -DOUTPUT=mpi_calls.cpp -P calls.cmake
#
# A call is harmless (no wrapper), a collective, a maker of a communicator or of another handle, or else
# refused by name: so a call that only a newer MPI has is refused before anybody has thought of it. The
# definitions are weak: one by hand takes the place of the one written here.

# Queries, and what has no effect beyond this rank.
set(harmless
  "(c2f|f2c|f08|f082c|f082f|c2f08|f2f08)$" "^(Wtime|Wtick|Pcontrol|Aint_(add|diff)|Abort|Initialized|Finalized)$"
  "^(T|Info|Group|Pack|Unpack|Add_error|Error|Errhandler|Status|Attr|Keyval|Op|Type)(_|$)"
  "_(create_keyval|free_keyval|set_attr|get_attr|delete_attr|call_errhandler|create_errhandler)$"
  "^(Comm|Win)_[gs]et_(name|info|errhandler|group)$" "^Comm_(compare|rank|size|group|remote_.*|test_inter|get_parent)$"
  "^Cart_(coords|get|map|rank|shift)$" "^(Cartdim|Graphdims)_get$" "^Graph_(get|map|neighbors.*)$" "^Topo_test$"
  "^Dist_graph_neighbors.*$" "^Dims_create$" "^(Alloc|Free)_mem$" "^(Is_thread_main|Query_thread)$"
  "^Get_(address|count|elements|elements_x|library_version|processor_name|version)$" "^Test_cancelled$" "^Reduce_local$"
  "^Win_(sync|lock_all|unlock_all|shared_query)$")

set(collective
  "^(i|neighbor_|ineighbor_)?(barrier|bcast|gatherv?|scatterv?|allgatherv?|alltoall[vw]?|reduce|allreduce|reduce_scatter|reduce_scatter_block|scan|exscan)$")

# All ranks of the first communicator make the second one.
set(communicator "^(Comm_(split|split_type|dup|dup_with_info|create)|Cart_(create|sub)|(Graph|Dist_graph)_create(_adjacent)?)$")

# What has to be freed: the handle is the parameter of this type.
set(maker_MPI_Datatype "^Type_(contiguous|h?vector|h?indexed|struct|dup|create_(struct|h?indexed|h?indexed_block|hvector|subarray|darray|resized))$")
set(maker_MPI_Op "^Op_create$")
set(maker_MPI_Group "^(Comm_(remote_)?group|Win_get_group|Group_(difference|excl|incl|intersection|range_excl|range_incl|union))$")
set(maker_MPI_Errhandler "^(Comm|Win)_(create|get)_errhandler$")
set(maker_MPI_Info "^(Info_(create|dup)|(Comm|Win)_get_info)$")
set(free "^(Type|Op|Group|Errhandler|Info)_free$")

# Why a call is refused; the first that fits.
set(reasons
  "^Finalize$" "The test ends MPI@ your function must not."
  "^Init" "The test has started MPI already."
  "^(Buffer_|I?bsend|Bsend)" "Buffered sends hide deadlocks@ use MPI_Send or MPI_Isend."
  "^Request_free$" "Nobody can know then when the buffer may be used again@ wait for the request."
  "^Cancel$" "The course's tests do not follow a message that is called off@ wait for the request."
  "^(Comm_(spawn|accept|connect|join)|Open_port|Close_port|Publish_|Unpublish_|Lookup_|Session_|Group_from_session)"
  "The ranks of a test are those that it has started@ none can be added."
  "^Comm_disconnect$" "The course's tests do not follow it@ use MPI_Comm_free."
  "(_init$|^Start|^Pready|^Parrived)" "The course's tests do not follow persistent requests@ start each message by MPI_Isend or MPI_Irecv."
  "^(File_|Register_datarep)" "The course's tests do not follow MPI's files@ use std::ifstream and std::ofstream."
  "^(Win_|Put$|Get$|Rput|Rget|Accumulate|Raccumulate|Get_accumulate|Fetch_and_op|Compare_and_swap)"
  "The course's tests do not follow one-sided messages@ use MPI_Send and MPI_Recv."
  "^(Comm_create|Intercomm_)" "The course's tests do not follow it@ make groups by MPI_Comm_split."
  "^Comm_idup" "The course's tests do not follow it@ use MPI_Comm_dup."
  "^Isendrecv" "The course's tests do not follow it@ use MPI_Isend and MPI_Irecv."
  "_c$" "The course's tests follow lengths that are an int@ use the call of this name without _c."
  "." "The course's tests do not know this call, and cannot follow it.")

# Sets `text` to what stands in `name`'s wrapper; empty if it needs none.
function(body_of name type parameters names result)
  string(REGEX REPLACE "_c$" "" plain ${name})
  string(TOLOWER ${plain} lower)
  string(REGEX REPLACE "_init$" "" started ${lower})
  set(call "PMPI_${name}(${names})")
  set(text "    return ${call}@\n")
  if(lower MATCHES "${collective}")
    set(facts "\"MPI_${name}\", comm, ")
    set(root kNoRoot)
    set(bytes kAnyBytes)
    if(parameters MATCHES "int root")
      set(root root)
    endif()
    if(NOT lower MATCHES "neighbor" AND NOT (parameters MATCHES "int root" AND parameters MATCHES "sendcount")
       AND parameters MATCHES "(int|MPI_Count) (count|recvcount)(,|$)")
      set(length ${CMAKE_MATCH_2})
      string(REGEX MATCH "(recvtype|datatype)(,|$)" unused "${parameters}")
      set(bytes "bytes(${length}, ${CMAKE_MATCH_1})")
    endif()
    string(APPEND facts "${root}, ${bytes}")
    if(parameters MATCHES "MPI_Request")
      set(text "    const Collective call = start(${facts})@\n    return call.started(${call}, request)@\n")
    else()
      set(text "    const Collective call = enter(${facts})@\n    return call.left(${call})@\n")
    endif()
  elseif(plain MATCHES "${communicator}")
    string(REGEX MATCH "MPI_Comm ([a-z_]+)" unused "${parameters}")
    set(parent ${CMAKE_MATCH_1})
    string(REGEX MATCH "MPI_Comm \\*([a-z_]+)" unused "${parameters}")
    set(made ${CMAKE_MATCH_1})
    set(text "    const Collective call = join(\"MPI_${name}\", ${parent})@
    return call.made(${call}, ${made})@
")
  else()
    set(refused TRUE)
    foreach(pattern IN LISTS harmless)
      if(plain MATCHES "${pattern}")
        set(refused FALSE)
        set(text "")
      endif()
    endforeach()
    foreach(handle MPI_Datatype MPI_Op MPI_Group MPI_Errhandler MPI_Info)
      if(plain MATCHES "${maker_${handle}}")
        string(REGEX MATCH "${handle} \\*([a-z_]+)" unused "${parameters}")
        set(refused FALSE)
        set(text "    return made(\"MPI_${name}\", ${call}, ${CMAKE_MATCH_1})@\n")
      endif()
    endforeach()
    if(plain MATCHES "${free}")
      set(refused FALSE)
      set(text "    note_freed(*${names})@\n    return ${call}@\n")
    endif()
    if(refused)
      set(why "")
      list(LENGTH reasons length)
      math(EXPR last "${length} - 1")
      foreach(at RANGE 0 ${last} 2)
        list(GET reasons ${at} pattern)
        if(why STREQUAL "" AND name MATCHES "${pattern}")
          math(EXPR next "${at} + 1")
          list(GET reasons ${next} why)
        endif()
      endforeach()
      set(kind refuse_call)
      if(started MATCHES "${collective}")
        set(kind refuse_collective)
      endif()
      set(text "    ${kind}(\"MPI_${name}\", \"${why}\")@\n${text}")
    endif()
  endif()
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

file(READ ${HEADER} header)
string(REGEX REPLACE "\"[^\"\n]*\"" "" header "${header}")
string(REPLACE "[" "<" header "${header}")  # no brackets or semicolons in CMake's lists
string(REPLACE "]" ">" header "${header}")
string(REPLACE ";" "@" header "${header}")
string(REGEX REPLACE "/\\*([^*]|\\*+[^*/])*\\*+/" "" header "${header}")
string(REGEX REPLACE "\n#([^\n]*\\\\\n)*[^\n]*" "\n" header "${header}")
# what MPI has removed is declared for an error message only
string(REGEX REPLACE "[A-Za-z_]+ +P?MPI_[A-Za-z0-9_]+\\([^@)]*\\)[ \n]*__mpi_interface_removed__[^@]*@" "" header "${header}")
string(REGEX REPLACE "__mpi_interface_[a-z]+__ *\\([^@]*\\)[ \n]*@" "@" header "${header}")
string(REGEX REPLACE "[ \n]+" " " header "${header}")
string(REGEX REPLACE "(PMPI_[A-Za-z0-9_]+) \\(" "\\1(" header "${header}")
string(REGEX MATCHALL "PMPI_[A-Za-z0-9_]+\\(" mentions "${header}")
list(REMOVE_DUPLICATES mentions)
string(REGEX MATCHALL "[A-Za-z_]+ \\*?PMPI_[A-Za-z0-9_]+\\([^@)]*\\) *@" declarations "${header}")
list(REMOVE_DUPLICATES declarations)

set(wrappers "")
foreach(declaration IN LISTS declarations)
  string(REGEX MATCH "^([A-Za-z_]+) \\*?PMPI_([A-Za-z0-9_]+)\\((.*)\\)" unused "${declaration}")
  set(type ${CMAKE_MATCH_1})
  set(name ${CMAKE_MATCH_2})
  list(REMOVE_ITEM mentions "PMPI_${name}(")
  string(STRIP "${CMAKE_MATCH_3}" parameters)
  string(REGEX REPLACE " *\\* *" " *" parameters "${parameters}")
  string(REPLACE "* *" "**" parameters "${parameters}")
  set(names "")
  if(NOT parameters MATCHES "^(void)?$")
    string(REPLACE "," ";" list "${parameters}")
    foreach(parameter IN LISTS list)
      string(REGEX MATCH "([A-Za-z_0-9]+) *(<[0-9]*>)*$" unused "${parameter}")
      list(APPEND names ${CMAKE_MATCH_1})
    endforeach()
    string(REPLACE ";" ", " names "${names}")
  endif()
  body_of(${name} ${type} "${parameters}" "${names}" body)
  if(body AND type STREQUAL "int")
    string(APPEND wrappers "WEAK int MPI_${name}(${parameters}) {\n    const Uncounted layer@\n${body}}\n")
  elseif(body)
    message(FATAL_ERROR "tests/harness/mpi/calls.cmake: say what becomes of MPI_${name}, which returns ${type}")
  endif()
endforeach()
if(mentions)
  message(FATAL_ERROR "tests/harness/mpi/calls.cmake cannot read how ${HEADER} declares: ${mentions}")
endif()
string(REPLACE "<" "[" wrappers "${wrappers}")
string(REPLACE ">" "]" wrappers "${wrappers}")
string(REPLACE "@" ";" wrappers "${wrappers}")
file(WRITE ${OUTPUT} "// Written by tests/harness/mpi/calls.cmake.
// NOLINTBEGIN
#include \"tests/harness/job/memory.hpp\"
#include \"tests/harness/mpi/calls.hpp\"

using namespace dist::harness;

#pragma GCC diagnostic ignored \"-Wdeprecated-declarations\"
#define WEAK extern \"C\" [[gnu::weak]]

${wrappers}// NOLINTEND
")
