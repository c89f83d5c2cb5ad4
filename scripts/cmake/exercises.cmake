# Targets for every exercise of exercises/course.toml:
#   solution_NAME      the reference, a static library of one file
#   NAME_test_object   the test
#   NAME_test_parts    all that NAME_test is linked from but the student's file: another file may take its place
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
  add_parts(${name}_test ${name}_test_object dist_harness dist_runtime ${others} ${headers} ${NEEDS_${needs}_PRECOMPILED}
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
    add_parts(${name}_walk ${name}_walk_object dist_walk dist_runtime ${others})
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
# dist::stack_replicas: the references that training equal replicas calls, and what those call.
if(LibTorch_FOUND)
  add_library(dist_stack_replicas INTERFACE)
  set(called chunk_bounds send_recv ring_shift broadcast tree_broadcast ring_reduce_scatter ring_all_gather ring_all_reduce
    simple_model distributed_sampler broadcast_parameters average_gradients evaluate resnet_trainer data_parallel
    gradient_buckets autograd_hooks overlap mixed_precision sharded_checkpoint elastic_sampler snapshot flight_recorder)
  foreach(name IN LISTS available)
    if(name IN_LIST called)
      target_link_libraries(dist_stack_replicas INTERFACE solution_${name})
    endif()
  endforeach()
  target_link_libraries(dist_stack_replicas INTERFACE dist::runtime)
  add_library(dist::stack_replicas ALIAS dist_stack_replicas)
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
