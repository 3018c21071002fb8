"""What `weft collective` promises of buffers that are registered with NCCL: -R 1, -R 2, -x, and puts."""

import json

import commands_test


class RegisteredBuffers(commands_test.Commands):
    def test_runs_nccls_kernels_on_symmetric_memory(self):
        def algorithm(kind, *more):
            done = self.weft("collective", kind, "--cluster", "dgx_h100", "-b", "1K", "-e", "1K", "-R", "2", "--json", "r.json", *more)
            return json.loads((self.folder / "r.json").read_text())["points"][0]["algorithm"], done.stdout

        for taken in (["all_reduce"], ["all_gather", "-d", "int8"], ["reduce_scatter"]):
            self.assertEqual(algorithm(*taken)[0], "nccl_symmetric")
        for arguments, why in ((["alltoall"], "for this alltoall"), (["all_reduce", "-o", "max"], "for this all_reduce"),
                               (["all_reduce", "--nccl", "version=2.26"], "before 2.27"),
                               (["all_reduce", "--set", "nodes=2"], "where all GPUs reach each other over NVLink")):
            chosen, told = algorithm(*arguments)
            self.assertTrue(chosen != "nccl_symmetric" and why in told, told)

    # NVLS on 8 H100 takes 4 channels, which together move 0.709 of 450 GB/s at most, 9 parts for 8 of data, and wait between chunks.
    def test_registers_buffers_with_nccl(self):
        def point(kind, *more, expect=0):
            done = self.weft("collective", kind, "--cluster", "dgx_h100", "-R", "1", "--json", "r.json", *more, expect=expect)
            if expect:
                return done.stderr
            return json.loads((self.folder / "r.json").read_text())["points"][0], done.stdout

        large = ["-b", "4G", "-e", "4G"]
        switch, told = point("all_reduce", *large)
        self.assertEqual((switch["algorithm"], switch["channels"]), ("nvls", 4))
        self.assertIn("the NVLink switch reads and writes the user's buffers", told)
        self.assertTrue(0.85 < switch["algbw_GBps"] / (0.709 * 450 * 8 / 9) < 1, switch)
        ring, told = point("all_gather", *large)
        self.assertEqual((ring["algorithm"], ring["channels"]), ("ring", 16))
        self.assertIn("peers over NVLink store into the user's buffers", told)
        few, _ = point("all_gather", *large, "-x", "1")
        self.assertEqual((few["algorithm"], few["channels"]), ("nvls", 4))
        _, told = point("reduce_scatter", *large)
        self.assertIn("uses no registered buffers here", told)
        self.assertIn("-R 1: ncclCommRegister is of NCCL 2.19; expected that or a newer version, got 2.18.",
                      point("all_reduce", "--nccl", "version=2.18", expect=2))
        self.assertIn("library 'vllm' has its own", point("all_reduce", "--library", "vllm", expect=2))

    # Flags before and after and the copies' start are three copies of 2.886 us; then the links set the pace.
    def test_copy_engines_take_no_thread_block(self):
        def point(kind, size, *more):
            self.weft("collective", kind, "--cluster", "dgx_h100", "-b", size, "-e", size, "--json", "r.json", *more)
            return json.loads((self.folder / "r.json").read_text())["points"][0]

        for kind in "all_gather", "alltoall", "gather", "scatter":
            small = point(kind, "1K", "-R", "2", "-x", "2")
            self.assertEqual((small["algorithm"], small["channels"]), ("nccl_copy_engine", 0))
            self.assertTrue(3 * 2.886 < small["time_us"] < 3 * 2.886 + 4, small)
        large = point("all_gather", "4G", "-R", "2", "-x", "2")
        self.assertTrue(0.75 * 450 < large["busbw_GBps"] < 450, large)
        put = point("sendrecv", "8", "--algo", "nccl_put")
        self.assertTrue(2 * 2.886 < put["time_us"] < 2 * 2.886 + 3, put)
        for arguments, why in ((["all_reduce", "--algo", "nccl_copy_engine"], "all_gather, alltoall, gather and scatter"),
                               (["sendrecv", "--algo", "nccl_put", "--nccl", "version=2.28"], "ncclPutSignal is of NCCL 2.29"),
                               (["sendrecv", "--algo", "nccl_put", "--nodes", "2"], "all reach each other over NVLink")):
            self.assertIn(why, self.weft("collective", *arguments, "--cluster", "dgx_h100", "-b", "1K", "-e", "1K", expect=2).stderr)


if __name__ == "__main__":
    commands_test.main()
