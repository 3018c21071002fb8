"""What `weft explain channels` promises: NCCL's own words for its channels, from clusters and from files of a real node."""

import json
import re

import commands_test


class ExplainChannels(commands_test.Commands):
    def test_prints_what_nccl_would_say(self):
        lines = self.weft("explain", "channels", "--cluster", "node4.yaml").stdout.splitlines()
        # The row "HGX H200, 4 GPUs used" of models/nccl §2.5: 12 x 30, 24 CTAs, 16 of NVLS, 32 / 32 for send and receive.
        self.assertIn("Pattern 4, crossNic 0, nChannels 12, bw 30.000000/30.000000, type NVL/PIX, sameChannels 1", lines)
        self.assertIn("Channel 23/24 : 0 1 2 3", lines)
        self.assertTrue(any(line.startswith("Trees [0] 1/-1/-1->0->-1 [1] 1/-1/-1->0->-1 ") for line in lines))
        self.assertIn("24 coll channels, 24 collnet channels, 16 nvls channels, 32 p2p channels, 32 p2p channels per peer", lines)

    def test_writes_json_and_nccls_graph_file(self):
        command = ["explain", "channels", "--cluster", "node4.yaml", "-g", "2", "--nccl", "version=2.30"]
        self.weft(*command, "--json", "channels.json", "--xml", "graph.xml")
        result = json.loads((self.folder / "channels.json").read_text(encoding="utf-8"))
        self.assertEqual(list(result)[:len(commands_test.HEADER_KEYS)], commands_test.HEADER_KEYS)
        self.assertEqual((result["nccl_version"], result["ranks"], result["nodes"]), ("2.30.7", 2, 1))
        self.assertEqual([graph["graph"] for graph in result["graphs"]], ["ring", "tree", "nvls"])
        self.assertEqual(result["rings"], [[0, 1]] * result["channels"])
        graph = (self.folder / "graph.xml").read_text(encoding="utf-8")
        self.assertIn('<graph id="0" pattern="4" crossnic="0" nchannels="12" speedintra="30"', graph)
        # NCCL_GRAPH_FILE reads it again.
        self.assertEqual(self.weft(*command, "--nccl", "GRAPH_FILE=graph.xml", "--xml", "-").stdout, graph)

    def test_takes_nccls_topology_file(self):
        # With two nodes the NIC has a cable, and a speed.
        self.weft("topo", "node4.yaml", "--set", "nodes=2", "--nccl-xml", "topo.xml")
        from_xml = self.weft("explain", "channels", "--topo-xml", "topo.xml", "--nodes", "2").stdout
        from_cluster = self.weft("explain", "channels", "--cluster", "node4.yaml", "--nodes", "2").stdout
        self.assertIn("Pattern 4, ", from_xml)
        self.assertEqual(from_xml.splitlines()[1:], from_cluster.splitlines()[1:])

    def test_bridges_of_an_nvidia_smi_matrix_join_pairs(self):
        # Bridges join GPUs 0 and 1, 2 and 3, ...; a ring of all crosses the sockets, at the 10 GB/s that NCCL plans with.
        names = [f"GPU{i}" for i in range(8)]
        cells = [["X" if i == j else "NV12" if i // 2 == j // 2 else "PXB" if i // 4 == j // 4 else "SYS" for j in range(8)]
                 for i in range(8)]
        rows = [[name, *cells[i], "0-31", str(i // 4)] for i, name in enumerate(names)]
        header = ["", *names, "CPU Affinity", "NUMA Affinity"]
        (self.folder / "matrix.txt").write_text("\n".join("\t".join(row) for row in [header, *rows]) + "\n", encoding="utf-8")
        self.weft("topo", "import", "matrix.txt", "--nccl-xml", "bridges.xml")
        channels = self.weft("explain", "channels", "--topo-xml", "bridges.xml", "--nccl", "version=2.28").stdout
        self.assertIn("Pattern 4, crossNic 0, nChannels 1, bw 10.000000/10.000000, type SYS/", channels)

    def test_a_cluster_made_of_a_topology_file_has_its_channels(self):
        self.weft("topo", "node4.yaml", "--set", "nodes=2", "--nccl-xml", "topo.xml")
        from_xml = self.weft("explain", "channels", "--topo-xml", "topo.xml").stdout
        self.weft("topo", "import", "topo.xml", "-o", "made.yaml")
        self.assertIn("ok", self.weft("check", "made.yaml").stdout)
        from_made = self.weft("explain", "channels", "--cluster", "made.yaml").stdout
        self.assertIn("Pattern 4, ", from_xml)
        self.assertEqual(from_xml.splitlines()[1:], from_made.splitlines()[1:])
        # A collective on the file itself is one on that cluster, of as many nodes as are asked for.
        for nodes in ([], ["--nodes", "2"]):
            point = ["collective", "all_reduce", "-b", "1M", "-e", "1M", *nodes]
            digests = [re.search(r"# digest (\w+)", self.weft(*point, *on).stdout).group(1)
                       for on in (["-c", "made.yaml"], ["--topo-xml", "topo.xml"])]
            self.assertEqual(digests[0], digests[1])

    def test_a_file_of_places_takes_its_gpus_from_the_user(self):
        function = '<pci busid="000{}:00:00.0" class="0x{}" link_speed="32.0 GT/s PCIe" link_width="16"/>'
        places = "".join(function.format(i, kind) for i, kind in enumerate(["030200", "030200", "020700", "020700"], 1))
        (self.folder / "places.xml").write_text(
            f'<system version="1"><cpu numaid="0" arch="x86_64" vendor="AuthenticAMD" familyid="25" modelid="1">{places}</cpu></system>',
            encoding="utf-8")
        for command in (["topo", "import", "places.xml"], ["explain", "channels", "--topo-xml", "places.xml"],
                        ["collective", "all_reduce", "--topo-xml", "places.xml"]):
            self.assertIn("system: no GPU with a rank, but 2 functions of class 0x03", self.weft(*command, expect=2).stderr)
        hints = ["--gpu", "h100", "--nvlinks", "18", "--nic-rate", "400 Gb/s"]
        self.weft("topo", "import", "places.xml", *hints, "-o", "made.yaml")
        made = (self.folder / "made.yaml").read_text(encoding="utf-8")
        self.assertIn("{between: [gpu1, nvswitch0], type: nvlink4, width: 18}", made)
        self.assertIn("link: {type: infiniband, rate: 400000 Mb/s}", made)
        self.weft("collective", "all_reduce", "--topo-xml", "places.xml", *hints, "--nodes", "2", "-b", "1M", "-e", "1M")
        for hint, expected in [(["--gpu", "x1"], "--gpu: unknown GPU 'x1'"), (["--cpu", "z80"], "--cpu: expected one of broadwell, "),
                               (["--nic-rate", "fast"], "--nic-rate: expected a bandwidth such as '400 Gb/s', got 'fast'")]:
            self.assertIn(expected, self.weft("topo", "import", "places.xml", *hint, expect=2).stderr)
        self.assertIn("go with --topo-xml", self.weft(*commands_test.POINT, "--gpu", "h100", expect=2).stderr)

    def test_refuses_what_makes_no_sense(self):
        for arguments, expected in [
                (["channels", "--nodes", "2"], "error: explain channels: expected either --cluster FILE or --topo-xml FILE\n"),
                (["ring", "--cluster", "node4.yaml"], "error: --cluster, --topo-xml, --nodes, -g, --nccl, --xml and --json go with"),
                (["channels", "--cluster", "hosts.yaml"], "error: h0 is no GPU: NCCL runs on GPUs\n"),
                (["channels", "--cluster", "node4.yaml", "-g", "5"], "GPUs"),
                (["channels", "--cluster", "node4.yaml", "-g", "0"], "error: -g: expected 1 GPU or more, got 0\n"),
                (["channels", "--cluster", "node4.yaml", "--nccl", "version=1.3"], "error: NCCL version: expected 2.18 or newer"),
                (["channels", "--cluster", "node4.yaml", "--nccl", "GRAPH_FILE=none.xml"], "none.xml"),
                (["channels", "--topo-xml", "node4.yaml"], "error: "),
        ]:
            done = self.weft("explain", *arguments, expect=2)
            self.assertIn(expected, done.stderr)
            self.assertEqual(done.stdout, "", arguments)


if __name__ == "__main__":
    commands_test.main()
