"""Checks deploy/kubernetes: every combination is rendered, validated, compared with itself and run.

`kubernetes.py BINARY PROMETHEUS FOLDER`, in a mount and a network namespace of its own (`unshare -mn`), in the root of the
repository. Then every mutation of MUTATIONS must be noticed: a check that lets one pass is a failure too.
"""

import copy
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
import urllib.parse
from pathlib import Path
from typing import Any

import grpc
import kubernetes_validate
import yaml

import pod
from kubernetes_readme import EXAMPLES, MANIFESTS, SIDECAR, check_example_key, check_look, check_times, readme_example
from pod import POD_IP, Pod, Serving, Wrong, containers, expect, ours, pod_spec

Object = dict[str, Any]

# The oldest version that has what is used (preStop.sleep), and the newest one with a schema.
VERSIONS = ["1.30", "1.37"]
SERVER_NAME = "judge-cascade"
OUR_CONTEXT = {
    "runAsNonRoot": True,
    "runAsUser": 65532,
    "runAsGroup": 65532,
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}
# What the restricted Pod security standard asks of every container.
RESTRICTED = ["runAsNonRoot", "allowPrivilegeEscalation", "capabilities", "seccompProfile"]
KEYS = {"judge-cascade-keys": {"api-key": "not-a-key\n"}}
PROBES = ["startupProbe", "readinessProbe", "livenessProbe"]
# The fields of a PodMonitor that are used here, as its documentation names them.
POD_MONITOR = {
    "spec": {"selector", "podMetricsEndpoints"},
    "endpoint": {"port", "path", "interval", "scrapeTimeout", "relabelings"},
    "relabeling": {"sourceLabels", "separator", "regex", "targetLabel", "replacement", "action"},
}


def render(folder: Path) -> list[Object]:
    done = subprocess.run(["kubectl", "kustomize", folder], capture_output=True, text=True)
    expect(done.returncode == 0, f"kubectl kustomize {folder}: {done.stderr.strip()}")
    expect(done.stderr == "", f"kubectl kustomize {folder}: {done.stderr.strip()}")
    return [each for each in yaml.safe_load_all(done.stdout) if each]


def combinations(folder: Path) -> dict[str, list[Object]]:
    """Everything that can be taken, rendered: what stands there, each with the PodMonitor, and the examples of README.md."""
    there = [MANIFESTS / "base", *sorted((MANIFESTS / "overlays").iterdir())]
    rendered = {}
    for each in there:
        rendered[each.name] = render(each)
        name = f"{each.name} with pod-monitor"
        monitored = folder / name.replace(" ", "-")
        monitored.mkdir(parents=True)
        write_kustomization(monitored, resources=[each], components=[MANIFESTS / "components/pod-monitor"])
        rendered[name] = render(monitored)
    rendered["StatefulSet"] = render(stateful_set(folder / "stateful-set"))
    for name in ["native-sidecar", "native-sidecar-socket"]:
        plain = folder / f"{name}-container"
        plain.mkdir()
        component = MANIFESTS / "components/sidecar-container"
        write_kustomization(plain, resources=[MANIFESTS / "overlays" / name], components=[component])
        rendered[f"{name} as a container"] = render(plain)
    for name in EXAMPLES:
        rendered[name] = render(readme_example(name, folder / name.replace(" ", "-")))
    return rendered


def write_kustomization(folder: Path, **lists: list[Path]) -> None:
    relative = {key: [os.path.relpath(path, folder) for path in paths] for key, paths in lists.items()}
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(relative))


def stateful_set(folder: Path) -> Path:
    """The example as a StatefulSet."""
    shutil.copytree(MANIFESTS, folder)
    overlay = folder / "overlays/native-sidecar"
    text = (overlay / "app.yaml").read_text()
    changed = text.replace("kind: Deployment", "kind: StatefulSet").replace("spec:", "spec:\n  serviceName: rag-app", 1)
    (overlay / "app.yaml").write_text(changed)
    return overlay


def validate(each: Object) -> None:
    if each["kind"] == "PodMonitor":
        validate_pod_monitor(each)
        return
    for version in VERSIONS:
        try:
            kubernetes_validate.validate(each, version, strict=True)
        except kubernetes_validate.ValidationError as error:
            raise Wrong(f"{each['kind']} {error.path}: {error.message} ({version})") from error


def validate_pod_monitor(monitor: Object) -> None:
    expect(monitor["apiVersion"] == "monitoring.coreos.com/v1", "PodMonitor: wrong version")
    known(monitor["spec"], POD_MONITOR["spec"])
    for endpoint in monitor["spec"]["podMetricsEndpoints"]:
        known(endpoint, POD_MONITOR["endpoint"])
        for key in ["interval", "scrapeTimeout"]:
            expect(re.fullmatch(r"\d+s", endpoint[key]) is not None, f"PodMonitor: {key} is no time")
        expect(int(endpoint["scrapeTimeout"][:-1]) <= int(endpoint["interval"][:-1]), "PodMonitor: a scrape is too long")
        for rule in endpoint["relabelings"]:
            known(rule, POD_MONITOR["relabeling"])


def known(fields: Object, names: set[str]) -> None:
    expect(set(fields) <= names, f"PodMonitor: {sorted(set(fields) - names)} are no fields")


def of_kind(objects: list[Object], *kinds: str) -> list[Object]:
    return [each for each in objects if each["kind"] in kinds]


def workload_of(objects: list[Object]) -> Object:
    workloads = of_kind(objects, "Deployment", "StatefulSet")
    expect(len(workloads) == 1, f"{len(workloads)} workloads")
    return workloads[0]


def selects(selector: Object, labels: dict[str, str]) -> bool:
    expressions = selector.get("matchExpressions", [])
    expect(all(each["operator"] == "Exists" for each in expressions), "a selector that is not known here")
    wanted = selector.get("matchLabels", {})
    return all(labels.get(key) == value for key, value in wanted.items()) and all(
        each["key"] in labels for each in expressions
    )


def check_container(workload: Object) -> None:
    """What every Pod of ours must have, whatever else it has."""
    spec = pod_spec(workload)
    found = [each for each in containers(spec) if ours(each)]
    expect(len(found) == 1, f"{len(found)} containers of judge-cascade")
    container = found[0]
    version = tomllib.loads(Path("Cargo.toml").read_text())["package"]["version"]
    expect(container["image"].endswith(f"judge-cascade:{version}"), f"the image {container['image']} is not of version {version}")
    expect(container["securityContext"] == OUR_CONTEXT, f"securityContext is {container['securityContext']}")
    resources = container["resources"]
    expect("cpu" not in resources["limits"], "a limit of CPU throttles the judge")
    expect("cpu" in resources["requests"], "no CPU is requested")
    expect(resources["requests"]["memory"] == resources["limits"]["memory"], "memory: request and limit differ")
    for other in containers(spec):
        context = other["securityContext"]
        wrong = [key for key in RESTRICTED if context.get(key) != OUR_CONTEXT[key]]
        expect(not wrong, f"container {other['name']}: {wrong} are not restricted")
    expect(not {"hostNetwork", "hostPID", "hostIPC"} & set(spec), "the Pod shares what is the node's")
    expect(spec["automountServiceAccountToken"] is False, "the token of the ServiceAccount is mounted")
    sockets = [port["name"] for each in containers(spec) for port in each.get("ports", [])]
    expect(len(sockets) == len(set(sockets)), f"two ports of the Pod have one name: {sockets}")
    is_sidecar = container in spec.get("initContainers", [])
    expect(is_sidecar == (container.get("restartPolicy") == "Always"), "an init container must have restartPolicy Always")
    for name in PROBES:
        expect(name in container, f"{name} is missing")


def check_sharing(rendered: dict[str, list[Object]]) -> None:
    """The sidecar is the container of the base with its configuration, and images can be named from outside."""
    (sidecar,) = pod_spec(workload_of(rendered["native-sidecar"]))["initContainers"]
    (server,) = pod_spec(workload_of(rendered["base"]))["containers"]
    for key in sorted({*sidecar, *server} - {"restartPolicy"}):
        expect(sidecar.get(key) == server.get(key), f"{key} of the sidecar and of the base differ")
    configs = [of_kind(rendered[name], "ConfigMap")[0]["data"] for name in ["native-sidecar", "base"]]
    expect(configs[0] == configs[1], "the configurations of the sidecar and of the base differ")
    for name in rendered:
        is_init = any(ours(each) for each in pod_spec(workload_of(rendered[name])).get("initContainers", []))
        wanted = name == SIDECAR or name == "StatefulSet" or (name.startswith("native-sidecar") and "as a" not in name)
        expect(is_init == wanted, f"{name}: the native sidecar is there: {is_init}")
    for example in EXAMPLES:
        named = next(filter(ours, containers(pod_spec(workload_of(rendered[example])))))
        expect(named["image"].startswith("registry.example.com/"), f"{example}: `images` does not name the image")
        namespaces = {each["metadata"].get("namespace") for each in rendered[example]}
        expect(namespaces == {"rag"}, f"{example}: objects are in the namespaces {namespaces}")


def check_around(objects: list[Object], places: dict[str, str], config: Object) -> None:
    """Everything beside the Pod agrees with it and with what the program does."""
    workload = workload_of(objects)
    spec = pod_spec(workload)
    container = next(each for each in containers(spec) if ours(each))
    labels = workload["spec"]["template"]["metadata"]["labels"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    is_open = not places["listen"].startswith(("127.", "unix:"))
    listening = {"judge-admin": port_of(places["admin"])} | ({"judge-grpc": port_of(places["listen"])} if is_open else {})
    expect(ports == listening, f"the container has the ports {ports} and listens on {listening}")
    expect(selects(workload["spec"]["selector"], labels), "the workload does not select its Pods")
    for constraint in spec.get("topologySpreadConstraints", []):
        expect(selects(constraint["labelSelector"], labels), "topologySpreadConstraints: does not select the Pods")
    if "serviceAccountName" in spec:
        names = [each["metadata"]["name"] for each in of_kind(objects, "ServiceAccount")]
        expect(spec["serviceAccountName"] in names, f"there is no ServiceAccount `{spec['serviceAccountName']}`")
    for account in of_kind(objects, "ServiceAccount"):
        expect(account["automountServiceAccountToken"] is False, "ServiceAccount: its token is mounted")
    stop = container.get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds", 0)
    grace = stop + config["server"]["shutdown_grace_ms"] / 1000
    expect(grace < spec["terminationGracePeriodSeconds"], f"{grace} s to end are more than the Pod has")
    check_application(spec, places["listen"])
    for service in of_kind(objects, "Service"):
        expect(service["spec"]["clusterIP"] == "None", "Service: is not headless")
        expect(selects({"matchLabels": service["spec"]["selector"]}, labels), "Service: does not select the Pods")
        for port in service["spec"]["ports"]:
            expect(ports.get(port["targetPort"]) == port["port"], f"Service: nothing listens on {port['targetPort']}")
    for budget in of_kind(objects, "PodDisruptionBudget"):
        expect(selects(budget["spec"]["selector"], labels), "PodDisruptionBudget: does not select the Pods")
    for policy in of_kind(objects, "NetworkPolicy"):
        check_policy(policy, labels, ports)
    for scaler in of_kind(objects, "HorizontalPodAutoscaler"):
        check_scaler(scaler, workload, config)
    for monitor in of_kind(objects, "PodMonitor"):
        expect(selects(monitor["spec"]["selector"], labels), "PodMonitor: does not select the Pods")
        for endpoint in monitor["spec"]["podMetricsEndpoints"]:
            expect(ports.get(endpoint["port"]) == ports["judge-admin"], f"PodMonitor: `{endpoint['port']}` is not admin")


def port_of(address: str) -> int:
    return int(address.rsplit(":", 1)[1])


def check_application(spec: Object, listen: str) -> None:
    """An application of the same Pod is told where the sidecar really listens, and reaches it."""
    for each in spec["containers"]:
        if ours(each):
            continue
        told = {variable["name"]: variable["value"] for variable in each["env"]}["JUDGE_CASCADE_ENDPOINT"]
        expect(told == listen, f"the application calls `{told}`, the sidecar listens on `{listen}`")
        if told.startswith("unix:"):
            mounts = [mount["mountPath"] for mount in each.get("volumeMounts", [])]
            expect(os.path.dirname(told.removeprefix("unix:")) in mounts, "the application does not mount the socket")


def check_policy(policy: Object, labels: dict[str, str], ports: dict[str, int]) -> None:
    spec = policy["spec"]
    expect(selects(spec["podSelector"], labels), "NetworkPolicy: does not select the Pods")
    opened = [port["port"] for rule in spec["ingress"] for port in rule["ports"]]
    expect(sorted(opened) == sorted(ports), f"NetworkPolicy: opens {opened}, the container has {sorted(ports)}")
    expect(all(rule.get("from") for rule in spec["ingress"]), "NetworkPolicy: lets anybody in")
    out = {(port["protocol"], port["port"]) for rule in spec["egress"] for port in rule["ports"]}
    expect(out == {("UDP", 53), ("TCP", 53), ("TCP", 443)}, f"NetworkPolicy: lets {sorted(out)} out")


def check_scaler(scaler: Object, workload: Object, config: Object) -> None:
    spec, target = scaler["spec"], scaler["spec"]["scaleTargetRef"]
    named = (workload["apiVersion"], workload["kind"], workload["metadata"]["name"])
    expect((target["apiVersion"], target["kind"], target["name"]) == named, "autoscaler: names another workload")
    expect("replicas" not in workload["spec"], "replicas are the autoscaler's")
    expect(spec["maxReplicas"] == config["spend"]["fleet_size"], "autoscaler: maxReplicas is not spend.fleet_size")
    wanted = int(spec["metrics"][0]["pods"]["target"]["averageValue"])
    expect(wanted < config["limits"]["max_in_flight_traces"], "autoscaler: calls are turned away before it acts")


def run(objects: list[Object], rig: "Rig", secrets: Object) -> None:
    """The program, its configuration and its probes, as rendered."""
    with rig.pod(objects, secrets) as one:
        source = next("--config=" + each.split("=")[1] for each in one.container["args"] if each.endswith(".toml"))
        one.ask(["config", "check", source])
        config = tomllib.loads(one.ask(["config", "print", source]))
        with Serving(one) as crashed:
            # Killed without a word: what it leaves in a shared folder must not keep the next one from serving.
            crashed.places()
        with Serving(one) as serving:
            places = serving.places()
            for name in PROBES:
                serving.probe(name)
            check_around(objects, places, config)
            call(one, places["listen"], config, rig)
            for monitor in of_kind(objects, "PodMonitor"):
                scrape(monitor, of_kind(objects, "HorizontalPodAutoscaler"), serving, rig)
            serving.end(config["server"]["shutdown_grace_ms"] / 1000)


def call(one: Pod, listen: str, config: Object, rig: "Rig") -> None:
    """Who may call can, and nobody else."""
    if listen.startswith("unix:"):
        health = ["healthcheck", "--endpoint", listen]
        run_as = lambda groups: subprocess.run(one.command(health, 10001, groups), capture_output=True).returncode
        expect(run_as([10001, one.group]) == 0, "the application cannot call by the socket")
        expect(run_as([10001]) != 0, "somebody who is not in the group can call by the socket")
    elif "tls" in config["server"]:
        address = f"{POD_IP}:{port_of(listen)}"
        (name,) = config["server"]["tls"]["allowed_sans"]
        right, wrong = ("client", "other-name") if name == rig.names["client"] else ("other-name", "client")
        expect(rig.names[right] == name, f"there is no certificate for `{name}`")
        expect(is_serving(address, rig.credentials(right)), "the right client cannot call")
        for other in ["stranger", wrong, None]:
            expect(not is_serving(address, rig.credentials(other)), f"a client with certificate `{other}` can call")
    else:
        one.ask(["healthcheck", "--endpoint", f"http://{listen}"])
        outside = one.as_container(["healthcheck", "--endpoint", f"http://{POD_IP}:{port_of(listen)}"])
        expect(subprocess.run(outside, capture_output=True).returncode != 0, "the loopback port is open to others")


def is_serving(address: str, credentials: grpc.ChannelCredentials) -> bool:
    options = [("grpc.ssl_target_name_override", SERVER_NAME)]
    with grpc.secure_channel(address, credentials, options) as channel:
        try:
            return channel.unary_unary("/grpc.health.v1.Health/Check")(b"", timeout=5) == b"\x08\x01"
        except grpc.RpcError:
            return False


def scrape(monitor: Object, scalers: list[Object], serving: Serving, rig: "Rig") -> None:
    """What Prometheus makes of the PodMonitor: labels of targets, and the metric of the autoscaler."""
    endpoint = monitor["spec"]["podMetricsEndpoints"][0]
    status, text = serving.get(endpoint["port"], endpoint["path"])
    expect(status == 200 and "judge_cascade_build_info" in text, f"GET {endpoint['path']}: {status}, no metrics")
    names = {"sourceLabels": "source_labels", "targetLabel": "target_label"}
    relabeling = [{names.get(key, key): value for key, value in rule.items()} for rule in endpoint["relabelings"]]
    discovered = {"__meta_kubernetes_namespace": "rag", "__meta_kubernetes_pod_name": "judge-cascade-x"}
    controllers = {
        "rag/judge-cascade": ("ReplicaSet", "judge-cascade-5d8f7b9c4"),
        "rag/index-0": ("StatefulSet", "index-0"),
        "rag/pods": ("", ""),
    }
    targets = [
        {
            "targets": [f"{POD_IP}:{serving.port(endpoint['port'])}"],
            "labels": {
                **discovered,
                "__meta_kubernetes_pod_controller_kind": kind,
                "__meta_kubernetes_pod_controller_name": name,
            },
        }
        for kind, name in controllers.values()
    ]
    job = {
        "job_name": "podMonitor/rag/judge-cascade/0",
        "scrape_interval": "200ms",
        "scrape_timeout": "200ms",
        "metrics_path": endpoint["path"],
        "static_configs": targets,
        "relabel_configs": relabeling,
    }
    folder = rig.new_folder()
    (folder / "prometheus.yaml").write_text(yaml.safe_dump({"scrape_configs": [job]}))
    flags = [f"--config.file={folder}/prometheus.yaml", f"--storage.tsdb.path={folder}/data"]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [rig.prometheus, *flags, "--web.listen-address=127.0.0.1:9090"], stdout=log, stderr=log
        )
    try:
        labels = 'namespace="rag",pod="judge-cascade-x"'
        for name in controllers:
            query_value(f'up{{job="{name}",{labels}}} == 1')
        for scaler in scalers:
            metric = scaler["spec"]["metrics"][0]["pods"]["metric"]["name"]
            query_value(adapter_query(metric, labels))
    finally:
        process.terminate()
        process.wait()


def adapter_query(metric: str, matchers: str) -> str:
    """The rule of README.md for the adapter, filled in for a Pod as the adapter does."""
    text = (MANIFESTS / "README.md").read_text()
    block = next(block for block in re.findall(r"^```yaml\n(.*?)^```", text, re.M | re.S) if "seriesQuery" in block)
    rule = yaml.safe_load(block)["rules"][0]
    expect(rule["seriesQuery"].split("{")[0] == metric, f"the rule of the adapter is not about `{metric}`")
    expect(set(rule["resources"]["overrides"]) == {"namespace", "pod"}, "the rule of the adapter names other labels")
    filled = rule["metricsQuery"].replace("<<.Series>>", metric).replace("<<.LabelMatchers>>", matchers)
    return filled.replace("<<.GroupBy>>", "pod")


def query_value(query: str) -> str:
    """The value of the only series of a query, once there is one."""
    url = "http://127.0.0.1:9090/api/v1/query?" + urllib.parse.urlencode({"query": query})
    end = time.monotonic() + pod.WAIT_SECONDS
    while time.monotonic() < end:
        done = subprocess.run(["curl", "-sS", url], capture_output=True, text=True)
        # It answers with a text until it is ready.
        if done.stdout.startswith("{"):
            answer = json.loads(done.stdout)
            expect(answer["status"] == "success", f"`{query}`: {answer.get('error')}")
            result = answer["data"]["result"]
            if len(result) == 1:
                return result[0]["value"][1]
        time.sleep(0.2)
    raise Wrong(f"`{query}` has no series")


class Rig:
    """What every run needs: the program as an image, certificates, Secrets, folders."""

    def __init__(self, binary: Path, prometheus: str, folder: Path) -> None:
        self.binary = binary
        self.prometheus = prometheus
        self.folder = folder
        self.count = 0
        self.image = folder / "image"
        pod.make_image(binary, self.image)
        self.certificates = folder / "certificates"
        self.certificates.mkdir()
        self.authority("ca")
        self.authority("stranger-ca")
        self.certificate("server", "ca", SERVER_NAME)
        # The callers of the overlay and of the example in README.md.
        self.names = {"client": "rag-app.example.com", "other-name": "my-app.example.com"}
        for name, san in self.names.items():
            self.certificate(name, "ca", san)
        self.certificate("stranger", "stranger-ca", "rag-app.example.com")
        tls = {"tls.crt": self.pem("server.crt"), "tls.key": self.pem("server.key"), "ca.crt": self.pem("ca.crt")}
        self.secrets = {"judge-cascade-tls": tls}

    def pem(self, name: str) -> str:
        return (self.certificates / name).read_text()

    def openssl(self, *arguments: str) -> None:
        done = subprocess.run(["openssl", *arguments], cwd=self.certificates, capture_output=True, text=True)
        expect(done.returncode == 0, f"openssl {' '.join(arguments)}: {done.stderr}")

    def authority(self, name: str) -> None:
        new = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
        self.openssl(*new, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.crt")

    def certificate(self, name: str, authority: str, san: str) -> None:
        new = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
        names = ["-addext", f"subjectAltName=DNS:{san}", "-addext", "basicConstraints=critical,CA:FALSE"]
        signed = ["-CA", f"{authority}.crt", "-CAkey", f"{authority}.key"]
        self.openssl(*new, "-subj", f"/CN={name}", *names, *signed, "-keyout", f"{name}.key", "-out", f"{name}.crt")

    def credentials(self, client: str | None) -> grpc.ChannelCredentials:
        roots = self.pem("ca.crt").encode()
        if client is None:
            return grpc.ssl_channel_credentials(roots)
        key, chain = (self.pem(f"{client}.{end}").encode() for end in ["key", "crt"])
        return grpc.ssl_channel_credentials(roots, key, chain)

    def new_folder(self) -> Path:
        self.count += 1
        folder = self.folder / f"run-{self.count}"
        folder.mkdir()
        return folder

    def pod(self, objects: list[Object], secrets: Object) -> Pod:
        spec = pod_spec(workload_of(objects))
        return Pod(spec, objects, self.image, self.new_folder(), self.secrets | secrets)


def verify(objects: list[Object], rig: Rig, secrets: Object) -> None:
    for each in objects:
        validate(each)
    check_container(workload_of(objects))
    run(objects, rig, secrets)


def check_secrets(rendered: dict[str, list[Object]]) -> None:
    """README.md makes the Secrets that are mounted, with the files that the configurations name."""
    text = (MANIFESTS / "README.md").read_text()
    commands = re.findall(r"^kubectl create secret generic (\S+) (.*)$", text, re.M)
    made = {name: set(re.findall(r"--from-file=([^=]+)=", rest)) for name, rest in commands}
    wanted: dict[str, set[str]] = {}
    for objects in rendered.values():
        spec = pod_spec(workload_of(objects))
        mounts = {each["name"]: each["mountPath"] for each in next(filter(ours, containers(spec)))["volumeMounts"]}
        config = of_kind(objects, "ConfigMap")[0]["data"]["judge-cascade.toml"]
        for volume in spec["volumes"]:
            if "secret" in volume:
                files = re.findall(rf'"{mounts[volume["name"]]}/([^"]+)"', config)
                wanted.setdefault(volume["secret"]["secretName"], set()).update(files)
    expect(made == wanted, f"README.md makes the Secrets {made}, the Pods want {wanted}")


def check_remote_block(objects: list[Object], rig: Rig) -> None:
    """The block about a judge over HTTP is right once its comment signs are gone and the key is there."""
    objects = copy.deepcopy(objects)
    config = of_kind(objects, "ConfigMap")[0]
    text = config["data"]["judge-cascade.toml"]
    block = text[text.index("# [judges.remote]") :]
    written = "".join(line.removeprefix("# ").removeprefix("#") for line in block.splitlines(keepends=True))
    config["data"]["judge-cascade.toml"] = text.replace(block, written)
    check_times(tomllib.loads(config["data"]["judge-cascade.toml"]), rig.binary, rig.new_folder())
    with rig.pod(objects, KEYS) as one:
        one.ask(["config", "check", "--config=/etc/judge-cascade/judge-cascade.toml"])
        with Serving(one) as serving:
            serving.places()
            serving.probe("readinessProbe")
            serving.end(10)


# What must be noticed: where, what it is, what to write instead.
MUTATIONS = [
    ("native-sidecar", "a key of the configuration", "shutdown_grace_ms", "shutdown_grace"),
    ("native-sidecar", "a flag", "--config=", "--configuration="),
    ("native-sidecar-socket", "a flag of the socket", "--uds=", "--socket="),
    ("native-sidecar-socket", "the path of the socket", "--uds=/run/judge-cascade/judge", "--uds=/run/judge"),
    ("native-sidecar", "the admin port", "containerPort: 9464", "containerPort: 9465"),
    ("native-sidecar", "the admin address", 'listen = "0.0.0.0:9464"', 'listen = "127.0.0.1:9464"'),
    ("native-sidecar", "the name of a port", "port: judge-admin", "port: admin"),
    ("native-sidecar", "a path of probes", "path: /livez", "path: /healthz"),
    ("native-sidecar", "the grace", "shutdown_grace_ms = 10000", "shutdown_grace_ms = 60000"),
    ("native-sidecar", "what makes it a sidecar", "restartPolicy: Always", "terminationMessagePath: /x"),
    ("native-sidecar", "what the application is told", "127.0.0.1:50051\n", "127.0.0.1:50052\n"),
    ("native-sidecar", "a field", "initContainers:", "initContainer:"),
    ("native-sidecar", "the user", "runAsUser: 65532", "runAsUser: 0"),
    ("native-sidecar", "the version", "judge-cascade:0", "judge-cascade:9"),
    ("gateway", "a key of TLS", "client_ca_file", "ca_file"),
    ("gateway", "a file of the Secret", "/run/tls/ca.crt", "/run/tls/authority.crt"),
    ("gateway", "the port of the Service", "port: 50051\n", "port: 50052\n"),
    ("gateway", "the port that is listened on", '"0.0.0.0:50051"', '"0.0.0.0:50052"'),
    ("gateway", "a port of the NetworkPolicy", "port: judge-grpc\n", "port: judge-rpc\n"),
    ("gateway", "the size of the fleet", "maxReplicas: 10", "maxReplicas: 20"),
    ("gateway with pod-monitor", "the path of metrics", "path: /metrics", "path: /prometheus"),
    ("gateway with pod-monitor", "the metric", "name: judge_cascade_inflight_traces", "name: judge_cascade_inflight"),
    ("gateway with pod-monitor", "a field of the PodMonitor", "relabelings:", "relabelConfigs:"),
    ("base with pod-monitor", "the label of the Pods", "judge-cascade: server", "judge: server"),
]


def is_noticed(objects: list[Object], old: str, new: str, rig: Rig) -> str:
    text = yaml.dump_all(objects, Dumper=Literal, width=1000)
    if old not in text:
        raise Wrong(f"nothing to change: `{old}` does not stand there")
    try:
        verify(list(yaml.safe_load_all(text.replace(old, new))), rig, {})
    except (Wrong, KeyError) as error:
        return str(error).splitlines()[0]
    raise Wrong(f"`{new}` instead of `{old}` is not noticed")


class Literal(yaml.SafeDumper):
    """Writes texts of several lines as they are."""


Literal.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None),
)


def main() -> None:
    binary, prometheus, folder = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    pod.set_up_network()
    rig = Rig(binary, prometheus, folder)
    rendered = combinations(folder / "kustomizations")
    for name, objects in rendered.items():
        try:
            # Only the example of README.md has a judge that needs a key.
            verify(objects, rig, KEYS if name == SIDECAR else {})
        except Wrong as error:
            sys.exit(f"{name}: {error}")
        print(f"{name}: {len(objects)} objects, valid, run")
    check_sharing(rendered)
    check_secrets(rendered)
    check_look(folder / "look")
    check_example_key(binary, folder / "look/right")
    check_times(tomllib.loads((folder / "look/right/judge-cascade.toml").read_text()), binary, rig.new_folder())
    for name in ["base", "native-sidecar", "gateway"]:
        check_remote_block(rendered[name], rig)
    for name, what, old, new in MUTATIONS:
        print(f"{name}: {what}: {is_noticed(rendered[name], old, new, rig)}"[:160])


if __name__ == "__main__":
    main()
