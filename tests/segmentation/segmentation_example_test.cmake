# Installs a build into an empty folder, builds examples/segmentation against it, and goes through every verb.
include(${CMAKE_CURRENT_LIST_DIR}/../support/steps.cmake)

file(REMOVE_RECURSE ${SCRATCH})
file(MAKE_DIRECTORY ${SCRATCH})
step("install" ${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/larmor)
file(COPY ${SOURCE}/examples/segmentation DESTINATION ${SCRATCH})  # nothing of the tree is near it
step("configure" ${CMAKE_COMMAND} -S ${SCRATCH}/segmentation -B ${SCRATCH}/build -G ${GENERATOR}
     -DCMAKE_PREFIX_PATH=${SCRATCH}/larmor -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=Debug)
step("build" ${CMAKE_COMMAND} --build ${SCRATCH}/build)
step("install the program" ${CMAKE_COMMAND} --install ${SCRATCH}/build --prefix ${SCRATCH}/own)

# larmor(<what> <words…>): the program that was made of it.
function(larmor what)
  step("${what}" ${CMAKE_COMMAND} -E chdir ${SCRATCH} ${SCRATCH}/build/bin/larmor-segmentation ${ARGN})
  set(output "${output}" PARENT_SCOPE)
endfunction()

larmor("list" list segmentation)
expect_in_output("organs")
expect_in_output("synthetic")
larmor("config explain" config explain segmentation model.classes)
expect_in_output("names of the classes")
larmor("config show" config show segmentation -c tiny)
expect_in_output("RandCropByPosNegLabel")
larmor("plan" plan segmentation -c tiny --ranks 2)
expect_in_output("strategy")
larmor("train on two ranks" train segmentation -c tiny --ranks 2 train.length=20st train.validate_every=10st
       checkpoint.every=10st run.name=two)
larmor("train" train segmentation -c tiny --ranks 1 train.length=20st train.validate_every=10st
       checkpoint.every=10st run.name=first)
expect_in_output("run: ")
larmor("resume" train runs/first train.length=30st)
expect_in_output("ended after step 30")
larmor("evaluate" evaluate runs/first --json)
expect_in_output("\"dice\"")
expect_in_output("dice_bright")
expect_in_output("per_class")
larmor("export" export runs/first --output weights.safetensors)

# A case in files: its label map has the image's grid, and whole numbers.
find_program(PYTHON python3 REQUIRED)
step("write a case" ${PYTHON} ${CMAKE_CURRENT_LIST_DIR}/label_map.py write ${SCRATCH}/image.nii)
larmor("predict" predict runs/first --input image.nii --output label.nii)
step("the label map" ${PYTHON} ${CMAKE_CURRENT_LIST_DIR}/label_map.py check ${SCRATCH}/image.nii ${SCRATCH}/label.nii)
larmor("inspect" inspect label.nii)
expect_in_output("uint8")
step("the installed program finds its configs" ${SCRATCH}/own/bin/larmor-segmentation config show segmentation -c tiny)
file(REMOVE_RECURSE ${SCRATCH})
