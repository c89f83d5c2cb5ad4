# Targets for every exercise of exercises/course.toml:
#   solution_NAME      the reference, a static library of one file
#   NAME_test_object   the test
#   NAME_references    it, and the references that it calls
#   NAME_test_parts    what NAME_test calls, but the student's file: another file may take its place, and needs the
#                      NAME_references of what it includes beside
#   NAME_test          the test, the student's file, and the reference of everything else: one missing function is a link
#                      error, never the reference in disguise
#   NAME_walk          for `prove`, where the manifest says walk = true: all orders of events (tests/harness/walk)
# Only kinds that were found (needs.cmake) have any; those for GPUs are in gpu_exercises.cmake.

# Reads the fields that the build needs; the manifest keeps one field a line. Sets EXERCISES (names in course order)
# and EXERCISE_<name>_{chapter,needs,sockets,walk}.
function(read_manifest file)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(STRINGS ${file} lines REGEX "^(name|chapter|needs|sockets|walk) = ")
  set(names)
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^([a-z]+) = \"?([a-z0-9_]+).*" "\\1;\\2" pair "${line}")
    list(GET pair 0 field)
    list(GET pair 1 value)
    if(field STREQUAL "name")
      list(APPEND names ${value})
      set(name ${value})
    else()
      set(EXERCISE_${name}_${field} ${value} PARENT_SCOPE)
    endif()
  endforeach()
  set(EXERCISES ${names} PARENT_SCOPE)
endfunction()

read_manifest(${PROJECT_SOURCE_DIR}/exercises/course.toml)

# The headers that are precompiled for answers to NAME: others where its stub tells autograd of an operation.
function(headers_of name result)
  set(needs ${EXERCISE_${name}_needs})
  set(headers ${NEEDS_${needs}_PRECOMPILED})
  if(NEEDS_${needs}_PRECOMPILED_FUNCTIONS)
    file(STRINGS ${PROJECT_SOURCE_DIR}/exercises/${EXERCISE_${name}_chapter}/${name}.cpp found REGEX "custom_function.h")
    if(found)
      set(headers ${NEEDS_${needs}_PRECOMPILED_FUNCTIONS})
    endif()
  endif()
  set(${result} "${headers}" PARENT_SCOPE)
endfunction()

# The lines of FILE that include headers of exercises and of tests, without what is around the paths.
function(includes_of file result)
  get_property(is_known GLOBAL PROPERTY includes_of_${file} SET)
  if(NOT is_known)
    set(paths)
    if(EXISTS ${PROJECT_SOURCE_DIR}/${file})
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${file})
      file(STRINGS ${PROJECT_SOURCE_DIR}/${file} paths REGEX "^#include \"(exercises|tests)/")
      list(TRANSFORM paths REPLACE "^#include \"([^\"]*)\".*" "\\1")
    endif()
    set_property(GLOBAL PROPERTY includes_of_${file} "${paths}")
  endif()
  get_property(paths GLOBAL PROPERTY includes_of_${file})
  set(${result} "${paths}" PARENT_SCOPE)
endfunction()
# The references that FILES call, and what those call, as targets: whose header a file includes, that it calls.
function(references_of result)
  set(files ${ARGN})
  set(seen)
  set(references)
  while(files)
    list(POP_FRONT files file)
    if(file IN_LIST seen)
      continue()
    endif()
    list(APPEND seen ${file})
    includes_of(${file} paths)
    list(APPEND files ${paths})
    foreach(path IN LISTS paths)
      if(path MATCHES "^exercises/(.*/([a-z0-9_]+))\\.hpp$" AND CMAKE_MATCH_2 IN_LIST available)
        list(APPEND references solution_${CMAKE_MATCH_2})
        list(APPEND files solutions/${CMAKE_MATCH_1}.cpp)
      endif()
    endforeach()
  endwhile()
  list(REMOVE_DUPLICATES references)
  set(${result} "${references}" PARENT_SCOPE)
endfunction()

# Libraries for the code of an exercise, by what it needs. RUNTIME is the course's, for the MPI it is to run on; HEADERS are
# precompiled.
function(link_needs target visibility needs runtime headers)
  target_link_libraries(${target} ${visibility} dist::base dist::net ${runtime})
  target_link_libraries(${target} PRIVATE dist::whole_stacks)
  target_link_libraries(${target} ${visibility} ${NEEDS_${needs}_LIBRARIES})
  target_compile_options(${target} PRIVATE ${NEEDS_${needs}_OPTIONS})
  if(headers)
    share_precompiled(${target} ${headers})
  endif()
endfunction()

# The reference of NAME, as the library TARGET.
function(add_solution target name runtime)
  add_library(${target} STATIC EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/solutions/${EXERCISE_${name}_chapter}/${name}.cpp)
  headers_of(${name} headers)
  link_needs(${target} PUBLIC "${EXERCISE_${name}_needs}" ${runtime} "${headers}")
  target_link_libraries(${target} PRIVATE dist::warnings)
  target_compile_options(${target} PRIVATE -g1)  # lines, for reports
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()

# The student's file of NAME, as the object TARGET.
function(add_mine target name runtime)
  set(file ${EXERCISE_${name}_chapter}/${name}${NEEDS_${EXERCISE_${name}_needs}_SUFFIX})
  add_library(${target} OBJECT EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/exercises/${file})
  headers_of(${name} headers)
  link_needs(${target} PRIVATE "${EXERCISE_${name}_needs}" ${runtime} "${headers}")
  target_link_libraries(${target} PRIVATE dist::student_warnings)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()

function(add_exercise name)
  set(needs ${EXERCISE_${name}_needs})
  set(path ${EXERCISE_${name}_chapter}/${name})
  set(students_file ${PROJECT_SOURCE_DIR}/exercises/${path}.cpp)
  set(others)
  foreach(other IN LISTS available)
    if(NOT other STREQUAL name AND EXERCISE_${other}_needs IN_LIST NEEDS_${needs}_USES)
      list(APPEND others solution_${other})
    endif()
  endforeach()

  add_solution(solution_${name} ${name} dist::runtime)
  references_of(called solutions/${path}.cpp)
  add_custom_target(${name}_references)
  add_dependencies(${name}_references solution_${name} ${called})

  add_mine(mine_${name} ${name} dist::runtime)

  add_library(${name}_test_object OBJECT EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/tests/${path}_test.cpp)
  link_needs(${name}_test_object PRIVATE ${needs} dist::runtime "${NEEDS_${needs}_PRECOMPILED}")
  target_link_libraries(${name}_test_object PRIVATE dist::lines_only dist::optimised_little dist::harness dist::warnings)

  add_executable(${name}_test EXCLUDE_FROM_ALL ${students_file} $<TARGET_OBJECTS:${name}_test_object>)
  headers_of(${name} headers)
  link_needs(${name}_test PRIVATE ${needs} dist::runtime "${headers}")
  target_link_libraries(${name}_test PRIVATE dist::student_warnings dist::harness ${others} dist::net dist::runtime)
  set_target_properties(${name}_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  if(NOT SHARDLINGS_SANITIZE)
    target_compile_options(${name}_test PRIVATE -g1)  # lines, for reports; the debug preset has everything
    target_link_libraries(${name}_test PRIVATE dist::optimised_little)
  endif()
  if(NEEDS_${needs}_PRECOMPILED_TEST)
    share_precompiled(${name}_test_object ${NEEDS_${needs}_PRECOMPILED_TEST})
  endif()
  if(NEEDS_${needs}_PRECOMPILED_ANSWER)
    share_precompiled(${name}_test ${NEEDS_${needs}_PRECOMPILED_ANSWER})
  endif()
  references_of(called tests/${path}_test.cpp solutions/${path}.cpp)
  list(REMOVE_ITEM called solution_${name})
  add_parts(${name}_test ${name}_test_object dist_harness dist_runtime ${called} ${headers} ${NEEDS_${needs}_PRECOMPILED}
    ${NEEDS_${needs}_PARTS})

  if(EXERCISE_${name}_walk)
    add_library(${name}_walk_object OBJECT EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/tests/${path}_walk.cpp)
    link_needs(${name}_walk_object PRIVATE ${needs} dist::runtime "")
    target_link_libraries(${name}_walk_object PRIVATE dist::lines_only dist::warnings)
    add_executable(${name}_walk EXCLUDE_FROM_ALL
      ${students_file} $<TARGET_OBJECTS:${name}_walk_object> $<TARGET_OBJECTS:dist_walk>)
    link_needs(${name}_walk PRIVATE ${needs} dist::runtime "")
    target_link_libraries(${name}_walk PRIVATE dist::student_warnings ${others} dist::net dist::runtime)
    set_target_properties(${name}_walk PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
    references_of(called tests/${path}_walk.cpp solutions/${path}.cpp)
    list(REMOVE_ITEM called solution_${name})
    add_parts(${name}_walk ${name}_walk_object dist_walk dist_runtime ${called})
  endif()
endfunction()

# Whether NAME runs on SimGrid's MPI as well.
function(is_simulated name result)
  if(NEEDS_${EXERCISE_${name}_needs}_SIMULATED AND NOT EXERCISE_${name}_sockets)
    set(${result} TRUE PARENT_SCOPE)
  else()
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()

set(available)  # later exercises first: a linker looks to the right, and code uses what came before
foreach(name IN LISTS EXERCISES)
  set(needs ${EXERCISE_${name}_needs})
  if(NOT needs IN_LIST KINDS)
    message(FATAL_ERROR "${name} needs \"${needs}\": there is no such row in scripts/cmake/needs.cmake")
  elseif(NEEDS_${needs}_FOUND AND NOT NEEDS_${needs}_FOR_GPU)
    list(PREPEND available ${name})
  endif()
endforeach()
foreach(name IN LISTS available)
  add_exercise(${name})
endforeach()
foreach(name IN LISTS EXERCISES)
  if(NOT TARGET ${name}_references)  # nothing of it is built here
    add_custom_target(${name}_references)
  endif()
endforeach()

# For CTest: the student's file, and the reference in its place.
foreach(name IN LISTS EXERCISES)
  set(path ${EXERCISE_${name}_chapter}/${name}${NEEDS_${EXERCISE_${name}_needs}_SUFFIX})
  set(command ${PROJECT_SOURCE_DIR}/shardlings run ${name})
  add_test(NAME exercise.${name} COMMAND ${command})
  add_test(NAME solution.${name} COMMAND ${command} --as ${PROJECT_SOURCE_DIR}/solutions/${path})
  set_tests_properties(exercise.${name} solution.${name} PROPERTIES
    RUN_SERIAL ON TIMEOUT 600 SKIP_RETURN_CODE 6)
  set_tests_properties(exercise.${name} PROPERTIES
    LABELS "exercise;${EXERCISE_${name}_chapter};${EXERCISE_${name}_needs}")
  set_tests_properties(solution.${name} PROPERTIES
    LABELS "solution;${EXERCISE_${name}_chapter};${EXERCISE_${name}_needs}")
endforeach()

# The stack: every reference solution, or, for `--stack mine`, the student's code of the exercises in SHARDLINGS_MINE
# and the reference for the rest.
#   dist::stack       chapters 01 to 04        dist::stack_mine
#   dist::stack_torch chapters 05 and later    dist::stack_torch_mine
#   ..._own           the same for course/own_mpi, a small MPI on chapter 04's transport
#   dist::stack_smpi  chapters 01 to 04, for SimGrid's MPI
# KINDS are those of the exercises in it; SUFFIX tells targets that are made for another MPI, RUNTIME is the course's for it.
function(add_stack stack suffix runtime student kinds)
  add_library(dist_${stack} INTERFACE)
  foreach(name IN LISTS available)
    is_simulated(${name} simulated)
    if(NOT EXERCISE_${name}_needs IN_LIST kinds OR (suffix STREQUAL "_smpi" AND NOT simulated))
      continue()
    endif()
    if(student AND name IN_LIST SHARDLINGS_MINE)
      if(NOT TARGET mine${suffix}_${name})
        add_mine(mine${suffix}_${name} ${name} ${runtime})
      endif()
      target_sources(dist_${stack} INTERFACE $<TARGET_OBJECTS:mine${suffix}_${name}>)
    else()
      if(NOT TARGET solution${suffix}_${name})
        add_solution(solution${suffix}_${name} ${name} ${runtime})
      endif()
      target_link_libraries(dist_${stack} INTERFACE solution${suffix}_${name})
    endif()
  endforeach()
  target_link_libraries(dist_${stack} INTERFACE ${runtime})
  add_library(dist::${stack} ALIAS dist_${stack})
endfunction()
foreach(mpi IN ITEMS "" _own)
  add_stack(stack${mpi} "${mpi}" dist::runtime${mpi} FALSE "${NEEDS_mpi_USES}")
  add_stack(stack_mine${mpi} "${mpi}" dist::runtime${mpi} TRUE "${NEEDS_mpi_USES}")
  if(LibTorch_FOUND)
    add_stack(stack_torch${mpi} "${mpi}" dist::runtime${mpi} FALSE "${NEEDS_torch_USES}")
    add_stack(stack_torch_mine${mpi} "${mpi}" dist::runtime${mpi} TRUE "${NEEDS_torch_USES}")
  endif()
endforeach()
# The stack for a few callers: the references of NAMES.
function(add_small_stack stack)
  add_library(dist_${stack} INTERFACE)
  foreach(name IN LISTS available)
    if(name IN_LIST ARGN)
      target_link_libraries(dist_${stack} INTERFACE solution_${name})
    endif()
  endforeach()
  target_link_libraries(dist_${stack} INTERFACE dist::runtime)
  add_library(dist::${stack} ALIAS dist_${stack})
endfunction()
# dist::stack_collectives: what course/algorithms and the choice of one call.
file(GLOB callers RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/course/algorithms/*.[ch]pp)
references_of(called ${callers} course/lab/choice.cpp)
list(TRANSFORM called REPLACE "^solution_" "")
add_small_stack(stack_collectives ${called})
# dist::stack_replicas: what training equal replicas calls, and what that calls.
if(LibTorch_FOUND)
  add_small_stack(stack_replicas chunk_bounds send_recv ring_shift broadcast tree_broadcast ring_reduce_scatter ring_all_gather ring_all_reduce
    simple_model distributed_sampler broadcast_parameters average_gradients evaluate resnet_trainer data_parallel
    gradient_buckets autograd_hooks overlap mixed_precision sharded_checkpoint elastic_sampler snapshot flight_recorder)
endif()
if(SimGrid_FOUND)
  add_stack(stack_smpi _smpi dist::runtime_smpi FALSE mpi)
  # for `simulate`: the references alone, and the student's file of each exercise with the references of all others
  add_simulated(simulated LIBRARIES dist::stack_smpi)
  foreach(name IN LISTS available)
    is_simulated(${name} simulated)
    if(simulated)
      set(others ${available})
      list(FILTER others EXCLUDE REGEX "^${name}$")
      list(TRANSFORM others PREPEND solution_smpi_)
      list(FILTER others INCLUDE REGEX ".")
      set(smpi_others)
      foreach(other IN LISTS others)
        if(TARGET ${other})
          list(APPEND smpi_others ${other})
        endif()
      endforeach()
      add_simulated(${name}_simulated
        SOURCES ${PROJECT_SOURCE_DIR}/exercises/${EXERCISE_${name}_chapter}/${name}.cpp
        LIBRARIES ${smpi_others} dist::student_warnings)
      link_needs(${name}_simulated PRIVATE mpi dist::runtime_smpi "")
      add_parts(${name}_simulated simulated_object dist_runtime_smpi ${smpi_others})
      # for `prove`: the same file in its test
      add_simulated_test(${name} ${PROJECT_SOURCE_DIR}/exercises/${EXERCISE_${name}_chapter}/${name}.cpp
        ${PROJECT_SOURCE_DIR}/tests/${EXERCISE_${name}_chapter}/${name}_test.cpp ${smpi_others})
    endif()
  endforeach()
endif()
