// Package version is the version of all modules of this repository, which are released together.
package version

// Number is what this tree is released as, and what lies between two releases has that of the one before. release.sh sets it,
// here and in the go.mod of each module.
const Number = "v0.1.0"

// EveryModuleMustBe_v0_1_0 is named by each other module. They use what is internal to this one, so with another version
// of it they might not compile, or worse, compile: this way the compiler says what to do.
const EveryModuleMustBe_v0_1_0 = true
