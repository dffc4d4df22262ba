# Steps of a test that is a CMake script: a command that has to succeed, and words that its output has to hold.

# step(<what> <command…>): runs the command, and ends the test with its output where it fails. Sets `output`.
function(step what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${what}: ${status}\n${out}")
  endif()
  message(STATUS "${what}: ok")
  set(output "${out}" PARENT_SCOPE)
endfunction()

# expect_in_output(<words>): of the last step.
function(expect_in_output words)
  string(FIND "${output}" "${words}" place)
  if(place EQUAL -1)
    message(FATAL_ERROR "no \"${words}\" in:\n${output}")
  endif()
endfunction()
